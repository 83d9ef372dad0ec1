package informer

import (
	"errors"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// TestWatchErrorsInTheLog checks that a failure of a watch is a line once, however often it is retried.
func TestWatchErrorsInTheLog(t *testing.T) {
	lines := 0
	ctx := klog.NewContext(t.Context(), funcr.New(func(_, _ string) { lines++ }, funcr.Options{}))
	s := &sharedInformer{informer: cache.NewSharedIndexInformer(&cache.ListWatch{}, &unstructured.Unstructured{}, 0, nil)}
	for _, c := range []struct {
		reason, err string
		want        int
	}{
		{"the first", "forbidden", 1},
		{"a retry", "forbidden", 1},
		{"another cause", "connection refused", 2},
		{"the first cause again, which is a change", "forbidden", 3},
	} {
		s.onWatchError(ctx, &cache.Reflector{}, errors.New(c.err))
		if lines != c.want {
			t.Errorf("%s: the log has %d lines, want %d", c.reason, lines, c.want)
		}
		if err := s.err(); err == nil || err.Error() != c.err {
			t.Errorf("%s: the failure is %v, want %s", c.reason, err, c.err)
		}
	}
}
