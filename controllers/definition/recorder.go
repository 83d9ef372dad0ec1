package definition

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/access"
	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

// maxEventBytes bounds the message of an event. Hooks and values of objects make a part of it.
const maxEventBytes = 2 << 10

// boundedRecorder cuts messages that are too long, and appends a suffix to each.
type boundedRecorder struct {
	record.EventRecorder
	suffix  string
	account identity.Account
}

// boundEvents bounds the messages of all events, and has them end in a suffix and written by an account.
func boundEvents(env *parent.Environment, suffix string, account identity.Account) {
	for _, recorder := range []*record.EventRecorder{
		&env.Events.Rare, &env.Events.Syncs, &env.Events.Children, &env.Events.Hooks, &env.Events.Rollouts,
	} {
		if *recorder != nil {
			*recorder = boundedRecorder{*recorder, suffix, account}
		}
	}
}

// Event emits an event.
func (r boundedRecorder) Event(object runtime.Object, kind, reason, message string) {
	r.AnnotatedEventf(object, nil, kind, reason, "%s", message)
}

// Eventf formats and emits an event.
func (r boundedRecorder) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	r.Event(object, kind, reason, fmt.Sprintf(format, args...))
}

// AnnotatedEventf formats and emits an event with annotations.
func (r boundedRecorder) AnnotatedEventf(object runtime.Object, annotations map[string]string, kind, reason, format string, args ...any) {
	annotations = access.AnnotateEvent(annotations, r.account)
	r.EventRecorder.AnnotatedEventf(object, annotations, kind, reason, "%s", r.bound(fmt.Sprintf(format, args...)))
}

func (r boundedRecorder) bound(message string) string {
	return engines.Truncate(message, maxEventBytes-len(r.suffix)) + r.suffix
}
