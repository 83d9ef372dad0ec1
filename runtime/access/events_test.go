package access

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

// TestRefusedEvents checks that events which an account may not write are dropped, and that the log has the first until one is written.
func TestRefusedEvents(t *testing.T) {
	client := fake.NewClientset()
	refuse := true
	client.PrependReactor("create", "events", func(action clienttesting.Action) (bool, runtime.Object, error) {
		event := action.(clienttesting.CreateAction).GetObject().(*corev1.Event)
		if event.Annotations[accountAnnotation] != "" {
			t.Error("the API server sees the annotation")
		}
		if refuse {
			return true, nil, apierrors.NewForbidden(corev1.Resource("events"), "", nil)
		}
		return true, event, nil
	})
	var logged []string
	sink := &EventSink{Events: client.CoreV1().Events(""), Log: funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{})}
	annotations := AnnotateEvent(nil, identity.Account{Namespace: "a", Name: "robot"})
	event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "e", Annotations: annotations}, Message: "secret"}
	for step, want := range []struct {
		refuse bool
		logged int
	}{{true, 1}, {true, 1}, {false, 1}, {true, 2}} {
		refuse = want.refuse
		if written, err := sink.Create(event); err != nil || written == nil {
			t.Errorf("step %d: %v, %v", step, written, err)
		}
		if len(logged) != want.logged {
			t.Errorf("step %d: logged %q", step, logged)
		}
	}
	if text := strings.Join(logged, ""); !strings.Contains(text, "a/robot") || strings.Contains(text, "secret") {
		t.Errorf("logged %s", text)
	}
}
