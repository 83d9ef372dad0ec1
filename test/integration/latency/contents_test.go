package latency

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/delayproxy"
	"github.com/libretto-k8s/libretto/test/env"
)

// counting is a hook that wants spec.count ConfigMaps with a text, and says in the status how many with that text it was shown,
// and how many it was ever shown without any.
const counting = `
export function sync({parent, children}) {
  const shown = Object.values(children["ConfigMap.v1"]);
  return {
    status: {
      text: parent.spec.text,
      shown: shown.filter(c => c.data?.text === parent.spec.text).length,
      empty: (parent.status?.empty ?? 0) + shown.filter(c => !c.data).length,
    },
    children: Array.from({length: parent.spec.count}, (_, n) => ({
      apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name + "-" + n, labels: {thing: parent.metadata.name}},
      data: {text: parent.spec.text},
    })),
  };
}`

// shows checks a Thing's status.
func shows(text string, count int64) func(*unstructured.Unstructured) error {
	return func(o *unstructured.Unstructured) error {
		if o == nil {
			return errors.New("there is no parent")
		}
		if empty, _, _ := unstructured.NestedInt64(o.Object, "status", "empty"); empty > 0 {
			return fmt.Errorf("the hook was shown %d children without content", empty)
		}
		shown, _, _ := unstructured.NestedInt64(o.Object, "status", "shown")
		if got, _, _ := unstructured.NestedString(o.Object, "status", "text"); got != text || shown != count {
			return fmt.Errorf("the hook was shown %d children with %q, want %d with %q", shown, got, count, text)
		}
		return nil
	}
}

// strategies are the ways to write children.
var strategies = map[string]string{"dynamic": "DynamicApply", "server-side": "ServerSideApply"}

// configMaps returns libretto's requests about ConfigMaps with one of some verbs.
func (e *delayedEnv) configMaps(since cluster.Mark, verbs ...string) cluster.Requests {
	return e.Requests(since).Verbs(verbs...).Of("", "configmaps").In(e.Namespace)
}

// Where the events of children come late, each child is written once, and no hook is shown one without its content.
func TestLateChildren(t *testing.T) {
	const count = 10
	eachLag(t, func(t *testing.T, lag time.Duration) {
		e := newEnv(t, lag)
		for name, strategy := range strategies {
			t.Run(name, func(t *testing.T) {
				e := &delayedEnv{e.WithT(t), e.proxy}
				definition := e.define("-"+name, counting, []string{"sync"}, children(strategy, "InPlace"))
				mark := e.Mark()
				e.applyThing(name, fmt.Sprintf("count: %d\ntext: one", count))
				e.eventually(e.Things(), name, shows("one", count))
				if writes := e.configMaps(mark, "create", "update", "patch"); len(writes) != count {
					t.Errorf("%d children were created by\n%s", count, writes)
				}
				e.Patch(e.Things(), name, `{"spec": {"text": "two"}}`)
				e.eventually(e.Things(), name, shows("two", count))
				if writes := e.configMaps(mark, "create", "update", "patch"); len(writes) != 2*count {
					t.Errorf("%d children were created and updated by\n%s", count, writes)
				}
				e.Delete(e.Things(), e.Namespace, name)
				e.Delete(env.CompositeControllers, "", definition)
				e.WaitForEvent(definition, "Stopped")
			})
		}
	})
}

// Where no event of children comes at all, parents go on after a second: the children are read.
func TestChildrenWithoutEvents(t *testing.T) {
	const count = 3
	for name, strategy := range strategies {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, 0)
			e.define("", counting, []string{"sync"}, children(strategy, "InPlace"))
			e.applyThing("first", "count: 1\ntext: one")
			e.eventually(e.Things(), "first", shows("one", 1)) // The caches are filled.
			e.proxy.Set(delayproxy.Rule{Verbs: []string{"watch"}, Resources: []string{"configmaps"}, Events: time.Hour})
			mark := e.Mark()
			e.applyThing("blind", fmt.Sprintf("count: %d\ntext: one", count))
			e.eventually(e.Things(), "blind", shows("one", count))
			e.Patch(e.Things(), "blind", `{"spec": {"text": "two"}}`)
			e.eventually(e.Things(), "blind", shows("two", count))
			if reads := e.configMaps(mark, "get"); len(reads) != 2*count {
				t.Errorf("after two writes of each of %d children there were these reads:\n%s", count, reads)
			}
			if writes := e.configMaps(mark, "create", "update", "patch"); len(writes) != 2*count {
				t.Errorf("%d children were created and updated by\n%s", count, writes)
			}
		})
	}
}

// Where events come in time, children are never read.
func TestChildrenAreNotRead(t *testing.T) {
	const parents, count = 20, 10
	e := newEnv(t, 0)
	e.define("", counting, []string{"sync"}, children("DynamicApply", "InPlace"))
	mark := e.Mark()
	for _, text := range []string{"one", "two"} {
		var things []string
		for n := range parents {
			things = append(things, fmt.Sprintf(
				"{apiVersion: %s/v1, kind: Thing, metadata: {name: t%d}, spec: {selector: {matchLabels: {thing: t%d}}, count: %d, text: %s}}",
				e.Group, n, n, count, text))
		}
		e.Apply(strings.Join(things, "\n---\n"))
		for n := range parents {
			e.eventually(e.Things(), fmt.Sprint("t", n), shows(text, count))
		}
	}
	if creates := e.configMaps(mark, "create"); len(creates) != parents*count {
		t.Errorf("%d creations, want %d", len(creates), parents*count)
	}
	if updates := e.configMaps(mark, "update"); len(updates) != parents*count {
		t.Errorf("%d updates, want %d", len(updates), parents*count)
	}
	reads := e.configMaps(mark, "get")
	t.Logf("%d reads", len(reads))
	// An event that is more than a second late on a busy machine costs a few.
	if len(reads) > count {
		t.Errorf("there were %d reads:\n%s", len(reads), reads)
	}
}
