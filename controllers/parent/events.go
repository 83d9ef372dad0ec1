package parent

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// report emits an event for a failed pass. It emits none for an error that passes by itself.
func (r *Reconciler) report(parent *unstructured.Unstructured, err error) {
	if err == nil || errors.Is(err, controller.ErrLater) {
		return
	}
	r.env.Events.Event(parent, corev1.EventTypeWarning, variant.ReasonSyncError, "Sync error: "+err.Error())
}
