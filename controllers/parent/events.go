package parent

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// report tells of a pass that failed, on the parent. A pass that will be made
// again for a reason that passes by itself is nobody's business.
func (r *Reconciler) report(parent *unstructured.Unstructured, err error) {
	if err == nil || errors.Is(err, controller.ErrLater) {
		return
	}
	r.env.Events.Event(parent, corev1.EventTypeWarning, variant.ReasonSyncError, "Sync error: "+err.Error())
}
