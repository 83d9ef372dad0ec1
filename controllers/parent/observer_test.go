package parent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/engines"
)

// watcher notes what it is told, with what is in the context.
type watcher struct{ told []string }

type syncKey struct{}

func (w *watcher) Begin(ctx context.Context, definition string, parent *unstructured.Unstructured) context.Context {
	w.told = append(w.told, fmt.Sprint("begin ", definition, " ", parent.GetName()))
	return context.WithValue(ctx, syncKey{}, "sync 1")
}

func (w *watcher) Called(ctx context.Context, hook string, call engines.Call, response engines.Response, err error) {
	w.told = append(w.told, fmt.Sprint(ctx.Value(syncKey{}), " called ", hook, " ", call.Request["parent"] != nil, " ", response.Body != nil, " ", err))
}

func (w *watcher) End(ctx context.Context, err error) {
	w.told = append(w.told, fmt.Sprint(ctx.Value(syncKey{}), " end ", err))
}

// TestObserver checks what an observer is told of a sync that succeeds, and of one that fails.
func TestObserver(t *testing.T) {
	host, key, things := startBenchmarked(t)
	if _, err := things.Patch(t.Context(), "p", types.MergePatchType, []byte(`{"spec":{"text":"1"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	host.settleEvents()
	observe := func() []string {
		w := &watcher{}
		_, err := host.Reconcile(WithObserver(t.Context(), w), key)
		if last := w.told[len(w.told)-1]; !strings.HasSuffix(last, fmt.Sprint(err)) {
			t.Errorf("it is told %q of a sync that ended with %v", last, err)
		}
		return w.told[:len(w.told)-1]
	}
	begin := "begin " + host.config.Definition + " p"
	if diff := cmp.Diff([]string{begin, "sync 1 called sync true true <nil>"}, observe()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	host.settleEvents()
	host.config.Programs = programsOf(failingPrograms(errors.New("boom")))
	if diff := cmp.Diff([]string{begin, "sync 1 called sync true false boom"}, observe()); diff != "" {
		t.Errorf("a failure (-want +got):\n%s", diff)
	}
	w := &watcher{}
	if _, err := host.Reconcile(WithObserver(WithObserver(t.Context(), w), nil), key); err == nil || len(w.told) > 0 {
		t.Errorf("error %v, and an observer that was taken out is told %q", err, w.told)
	}
}
