package scripts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/libretto-k8s/libretto/test/env"
)

// settleTime is the time within which a definition and its scripts settle. It is that of controllers/definition.
const settleTime = time.Second

// edition is a definition and its ConfigMap, which belong together: a Thing says which spec and which text answered for it.
type edition struct {
	number int
	// path is the file of the hook, and kind that of the only child.
	path, kind string
}

func (n edition) definition(e *env.Env) string {
	return fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %s, labels: {test: %s}}
spec:
  generateSelector: true
  parentResource: {apiVersion: %s/v1, resource: things}
  childResources: [{apiVersion: v1, resource: %ss, updateStrategy: {method: InPlace}}]
  scriptSources: [%s]
  hooks: {sync: {version: v2, script: {path: %s, parameters: {spec: %d}}}}
`, e.Namespace, e.Namespace, e.Group, strings.ToLower(n.kind), source(e, "hooks"), n.path, n.number)
}

// text returns the text of the hook, which answers a child of its kind.
func (n edition) text() string {
	return fmt.Sprintf(`export function sync({parent, parameters}) {
  const said = "spec " + parameters.spec + ", text %d";
  return {status: {said}, children: [{apiVersion: "v1", kind: %q, metadata: {name: parent.metadata.name}}]};
}
`, n.number, n.kind)
}

func (n edition) configMap(e *env.Env) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata: {name: hooks, namespace: %s}
data:
  %s: |
    %s`, e.Namespace, n.path, strings.ReplaceAll(strings.TrimSpace(n.text()), "\n", "\n    "))
}

func (n edition) said() string { return fmt.Sprintf("spec %d, text %[1]d", n.number) }

// editions are what an edit of both may change. Each returns the edition of a number.
var editions = map[string]func(number int) edition{
	"a parameter": func(number int) edition { return edition{number, "sync.js", "ConfigMap"} },
	"a kind of children": func(number int) edition {
		return edition{number, "sync.js", []string{"ConfigMap", "Secret"}[number%2]}
	},
	"the name of a file": func(number int) edition { return edition{number, fmt.Sprintf("sync%d.js", number), "ConfigMap"} },
}

// mixed returns what Things have said that one edition did not say, until all of them say what the newest one does.
func mixed(e *env.Env, answers <-chan watch.Event, things int, newest edition) []string {
	e.T.Helper()
	var wrong []string
	done := map[string]bool{}
	for timeout := time.After(env.Timeout); len(done) < things; {
		select {
		case event := <-answers:
			object, ok := event.Object.(*unstructured.Unstructured)
			if !ok {
				continue
			}
			var spec, text int
			if _, err := fmt.Sscanf(said(object), "spec %d, text %d", &spec, &text); err == nil && spec != text {
				wrong = append(wrong, object.GetName()+": "+said(object))
			}
			if said(object) == newest.said() {
				done[object.GetName()] = true
			}
		case <-timeout:
			e.T.Fatalf("%d of %d Things say %q", len(done), things, newest.said())
		}
	}
	return wrong
}

// warnings returns the Warning events about the definition, its ConfigMap and the Things, without those that an edition deserves.
func warnings(e *env.Env, definition string) []string {
	e.T.Helper()
	list, err := e.Cluster.Dynamic().Resource(env.Events).List(e.T.Context(), metav1.ListOptions{})
	e.NoError(err)
	var found []string
	for _, item := range list.Items {
		var event corev1.Event
		e.NoError(runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &event))
		if event.Type == corev1.EventTypeWarning && event.Reason != "ChildResourceRemoved" && (event.Namespace == e.Namespace || event.InvolvedObject.Name == definition) {
			found = append(found, event.InvolvedObject.Name+": "+event.Reason+": "+event.Message)
		}
	}
	return found
}

// TestTogether applies a definition and its ConfigMap, one after another in either order, with a moment in between. No Thing is synced by
// halves of two editions, and nothing is reported of the moment. Only a text that comes first, and does no harm under the spec that serves, is
// put to work at once.
func TestTogether(t *testing.T) {
	t.Parallel()
	for order, definitionFirst := range map[string]bool{"definition first": true, "ConfigMap first": false} {
		for what, editionOf := range editions {
			t.Run(what+", "+order, func(t *testing.T) {
				t.Parallel()
				const things, tries = 5, 10
				e := newRunning(t)
				first := editionOf(1)
				e.Apply(first.configMap(e) + "\n---\n" + first.definition(e))
				for n := range things {
					e.ApplyThing(fmt.Sprintf("t%d", n), "", "")
				}
				for n := range things {
					waitForSaid(e, fmt.Sprintf("t%d", n), first.said())
				}
				e.WaitForCondition(e.Namespace, "Ready", "True")
				timely := 0
				for number := 2; timely == 0 && number < 2+tries; number++ {
					next := editionOf(number)
					answers, before := watchThings(e), len(warnings(e, e.Namespace))
					halves := []string{next.configMap(e), next.definition(e)}
					if definitionFirst {
						halves[0], halves[1] = halves[1], halves[0]
					}
					began := time.Now()
					e.Apply(halves[0])
					<-time.After(settleTime / 3)
					e.Apply(halves[1])
					if took := time.Since(began); took > settleTime*2/3 {
						t.Logf("the machine took %s for two writes: this try tells nothing", took)
						mixed(e, answers, things, next)
						<-time.After(settleTime) // The next edition is no part of this one.
						continue
					}
					timely++
					wrong := mixed(e, answers, things, next)
					if len(wrong) > 0 && (definitionFirst || what != "a parameter") {
						t.Errorf("Things were synced by halves of two editions: %q", wrong)
					}
					e.WaitForCondition(e.Namespace, "Ready", "True")
					if found := warnings(e, e.Namespace); len(found) > before {
						t.Errorf("the moment in between is reported: %q", found[before:])
					}
				}
				if timely == 0 {
					t.Fatalf("the machine is too slow: no two writes of %d were within %s", tries, settleTime)
				}
			})
		}
	}
}

// TestTogetherByKubectl applies both as people do: from one file. It is not parallel: kubectl takes seconds from one to the other where it
// has to share a processor.
func TestTogetherByKubectl(t *testing.T) {
	e := newRunning(t)
	e.T.Cleanup(func() { e.Delete(env.CompositeControllers, "", e.Namespace) })
	editionOf := editions["a kind of children"]
	kubectlApply(e, editionOf(1).configMap(e)+"\n---\n"+editionOf(1).definition(e))
	e.ApplyThing("a", "", "")
	waitForSaid(e, "a", editionOf(1).said())
	e.WaitForCondition(e.Namespace, "Ready", "True")
	for number := 2; number < 6; number++ {
		answers, before := watchThings(e), len(warnings(e, e.Namespace))
		began := time.Now()
		kubectlApply(e, editionOf(number).configMap(e)+"\n---\n"+editionOf(number).definition(e))
		took := time.Since(began)
		t.Logf("kubectl apply of both took %s", took.Round(time.Millisecond))
		if wrong := mixed(e, answers, 1, editionOf(number)); len(wrong) > 0 {
			t.Errorf("a Thing was synced by halves of two editions: %q", wrong)
		}
		e.WaitForCondition(e.Namespace, "Ready", "True")
		if found := warnings(e, e.Namespace); took < settleTime && len(found) > before {
			t.Errorf("the moment in between is reported: %q", found[before:])
		}
	}
}

func kubectlApply(e *env.Env, text string) {
	e.T.Helper()
	file := filepath.Join(e.T.TempDir(), "objects.yaml")
	e.NoError(os.WriteFile(file, []byte(text), 0o644))
	e.Kubectl("apply", "-f", file)
}

// TestTogetherAsBundle swaps a definition and its bundle, in either order and with any time in between: no Thing is ever synced by the new
// spec with the old text, or the reverse.
func TestTogetherAsBundle(t *testing.T) {
	t.Parallel()
	const things = 5
	e := newRunning(t)
	editionOf := editions["a parameter"]
	apply := func(n edition, definitionFirst bool) {
		halves := strings.SplitN(bundledOf(e, n.definition(e), map[string]string{"src/sync.js": n.text()}), "\n---\n", 2)
		if len(halves) != 2 {
			t.Fatalf("libretto bundle printed %q, want a ConfigMap and a definition", halves)
		}
		if definitionFirst {
			halves[0], halves[1] = halves[1], halves[0]
		}
		e.Apply(halves[0])
		e.WaitForQuietOf(ownRequests(e)) // However long this takes.
		e.Apply(halves[1])
	}
	apply(editionOf(1), false)
	for n := range things {
		e.ApplyThing(fmt.Sprintf("t%d", n), "", "")
	}
	for n := range things {
		waitForSaid(e, fmt.Sprintf("t%d", n), editionOf(1).said())
	}
	for number := 2; number < 8; number++ {
		answers := watchThings(e)
		apply(editionOf(number), number%2 == 0)
		if wrong := mixed(e, answers, things, editionOf(number)); len(wrong) > 0 {
			t.Errorf("Things were synced by halves of two editions: %q", wrong)
		}
	}
	answers := watchThings(e) // Back, to the bundle that is still there.
	apply(editionOf(1), true)
	if wrong := mixed(e, answers, things, editionOf(1)); len(wrong) > 0 {
		t.Errorf("Things were synced by halves of two editions: %q", wrong)
	}
}
