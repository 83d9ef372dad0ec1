package definition

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/scripts"
	"github.com/libretto-k8s/libretto/scripts/artifact"
)

// sendScriptEvents sends events about scripts to the definition and to the ConfigMaps and objects of Flux
// concerned, as users who may edit these need not have access to definitions. It reports
// whether there was an event.
func (r *Reconciler) sendScriptEvents(object *unstructured.Unstructured, v statusView, before, now lastEvents) (sent bool) {
	r.logScripts(object, v, before, now)
	prefix := nameOf(object) + ": "
	if now.problems != "" && now.problems != before.problems {
		sent = true
		reason := v.newest.state.Problems[0].Reason()
		r.event(object, corev1.EventTypeWarning, reason, now.problems)
		for _, source := range v.newest.objects {
			if about := problemsOf(v.newest.state.Problems, source.ObjectName); about != "" {
				r.config.Environment.Events.Rare.Event(reference(source), corev1.EventTypeWarning, reason, prefix+about)
			}
		}
	}
	if now.held != "" && now.held != before.held {
		sent = true
		r.config.Environment.Events.Rollouts.Event(object, corev1.EventTypeWarning, rollout.ReasonHeld, now.held)
		for _, source := range v.newest.objects {
			r.config.Environment.Events.Rollouts.Event(reference(source), corev1.EventTypeWarning, rollout.ReasonHeld, prefix+now.held)
		}
	}
	recovered := now.problems == "" && before.problems != "" && now.revision != ""
	if changed := now.revision != before.revision && before.revision != "" && now.revision != ""; changed || recovered {
		sent = true
		text := scripts.ServesText(now.revision)
		if now.revision == v.newest.state.Loaded {
			text = scripts.ServesText(now.revision, v.newest.state.Tested, v.newest.state.Previewed)
		}
		r.event(object, corev1.EventTypeNormal, "ScriptReloaded", text)
		for _, source := range v.newest.objects {
			if before.versions[source.UID] != source.Version {
				r.config.Environment.Events.Rare.Event(reference(source), corev1.EventTypeNormal, "ScriptReloaded", prefix+text)
			}
		}
	}
	return sent
}

// logScripts logs that scripts were loaded, did not load, or are held back by their tests.
func (r *Reconciler) logScripts(object *unstructured.Unstructured, v statusView, before, now lastEvents) {
	log := r.config.Environment.Log.WithValues("definition", nameOf(object))
	switch {
	case now.problems != "" && now.problems != before.problems:
		message := "scripts did not load"
		if v.newest.state.TestsFailed() {
			message = "scripts are held back by their tests"
		}
		values := []any{"reason", v.newest.state.Problems[0].Reason(), "problems", now.problems}
		if v.newest.state.Loaded != "" {
			values = append(values, "serves", v.newest.state.Loaded.Short())
		}
		log.Error(nil, message, values...)
	case now.held != "" && now.held != before.held && v.hold.guard != "":
		log.Error(nil, "children are not deleted", "serves", now.revision.Short(), "reason", now.held)
	case now.held != "" && now.held != before.held:
		log.Error(nil, "scripts are held because of what they would do", "revision", v.newest.state.Desired.Short(),
			"serves", now.revision.Short(),
			"reason", v.newest.state.Held, "approve", "libretto rollout approve "+v1alpha1.ArgumentOf(object))
	case now.revision != "" && (now.revision != before.revision || now.problems == "" && before.problems != ""):
		values := []any{"revision", now.revision.Short()}
		if v.newest.state.Tested != "" && now.revision == v.newest.state.Loaded {
			values = append(values, "tests", v.newest.state.Tested)
		}
		if v.newest.state.Previewed != "" && now.revision == v.newest.state.Loaded {
			values = append(values, "preview", v.newest.state.Previewed)
		}
		log.Info("scripts loaded", values...)
	}
}

// problemsOf returns the problems of one source and those without a known source.
func problemsOf(problems []scripts.Problem, source scripts.ObjectName) string {
	var lines []string
	for _, p := range problems {
		if p.Origin.Object() == source {
			lines = append(lines, strings.TrimPrefix(p.String(), p.Origin.String()+": "))
		} else if p.Origin.Hook != "" {
			lines = append(lines, p.String())
		}
	}
	return strings.Join(lines, "\n")
}

func reference(source scripts.Object) *corev1.ObjectReference {
	version := artifact.APIVersion
	if source.Kind == scripts.ConfigMapKind {
		version = "v1"
	}
	return &corev1.ObjectReference{
		APIVersion: version, Kind: source.Kind, Namespace: source.Namespace, Name: source.Name, UID: source.UID, ResourceVersion: source.Version,
	}
}

// versionsOf returns the resourceVersion of each source.
func versionsOf(objects []scripts.Object) map[types.UID]string {
	versions := map[types.UID]string{}
	for _, source := range objects {
		versions[source.UID] = source.Version
	}
	return versions
}

// sendRolloutEvents emits an event if the condition Progressing, which is stored, says something else of a rollout.
func (r *Reconciler) sendRolloutEvents(object *unstructured.Unstructured, s *runtimeState, v statusView) {
	c, known := v.rollout.Condition(object, managersOf(v.newest.objects))
	if !known || !v.isOfRollout(c) {
		return
	}
	before, now := s.lastEvents.rollout, c.Reason+": "+c.Message
	s.lastEvents.rollout = now
	if before == "" && c.Reason == rollout.ReasonServing || now == before {
		return
	}
	kind := corev1.EventTypeNormal
	if c.Status == metav1.ConditionFalse {
		kind = corev1.EventTypeWarning
	}
	r.config.Environment.Events.Rollouts.Event(object, kind, c.Reason, c.Message)
	if kind == corev1.EventTypeWarning {
		for _, source := range v.newest.objects {
			r.config.Environment.Events.Rollouts.Event(reference(source), kind, c.Reason, nameOf(object)+": "+c.Message)
		}
	}
	r.config.Environment.Log.Info("rollout of scripts", "definition", nameOf(object), "reason", c.Reason, "message", c.Message)
}

// managersOf returns who writes the ConfigMaps, for a message that asks for an edit: a tool may bring the text again.
func managersOf(objects []scripts.Object) string {
	var names []string
	for _, o := range objects {
		if o.Manager != "" {
			names = append(names, fmt.Sprintf("%s is written by %s", o.ObjectName, o.Manager))
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return " (" + strings.Join(names, ", ") + ")"
}
