package definition

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

// TestBoundedRecorder emits events with long messages in each way.
func TestBoundedRecorder(t *testing.T) {
	fake := record.NewFakeRecorder(3)
	recorder, long := boundedRecorder{fake, " (CompositeController a)", identity.Account{}}, strings.Repeat("%d", 100_000)
	recorder.Event(&corev1.Pod{}, corev1.EventTypeWarning, "Reason", long)
	recorder.Eventf(&corev1.Pod{}, corev1.EventTypeWarning, "Reason", "%s", long)
	recorder.AnnotatedEventf(&corev1.Pod{}, nil, corev1.EventTypeWarning, "Reason", "%s", long)
	for range 3 {
		if got := <-fake.Events; len(got) > maxEventBytes+100 || !strings.HasPrefix(got, "Warning Reason %d%d") || !strings.HasSuffix(got, " (CompositeController a)") {
			t.Errorf("%d bytes: %.100s", len(got), got)
		}
	}
}
