package kinds

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// mapKey is the label and the annotation of outputs.
const mapKey = "metacontroller.k8s.io/map-key"

// copying makes a ConfigMap <parent>-<name> of each Gizmo, or what spec.outputs names, with spec.text. A Gizmo with spec.broken fails.
const copying = `
export function map({parent, input: {metadata, spec}}) {
  if (spec.broken) { throw new Error("broken: " + metadata.name); }
  const names = spec.outputs ?? [parent.metadata.name + "-" + metadata.name];
  return {outputs: names.map(name => ({apiVersion: "v1", kind: "ConfigMap", metadata: {name}, data: {text: String(spec.text)}}))};
}`

// fromGizmos is the part of a MapController's spec that names its resources; parents are of the test's group, outputs a rule.
func (w *scene) fromGizmos(parents, outputs string) string {
	return fmt.Sprintf("parentResource: {apiVersion: %[1]s/v1, resource: %[2]s}\ninputResources: [{apiVersion: %[1]s/v1, resource: gizmos}]\noutputResources: [%[3]s]",
		w.Group, parents, outputs)
}

const updatedConfigMaps = "{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}"

// mapped applies a MapController of Things (or of other parents) from Gizmos to ConfigMaps.
func (w *scene) mapped(parents, script string, names ...string) string {
	w.T.Helper()
	return w.define(mapping, "", w.fromGizmos(parents, updatedConfigMaps), hooks(script, names...))
}

// newMapScene has Gizmos too.
func newMapScene(t *testing.T) *scene {
	t.Helper()
	w := newScene(t)
	w.Apply(env.CRD(w.Group, "Gizmo", "Namespaced"))
	return w
}

// bucket applies a Thing that selects the Gizmos with the label of: <name>.
func (w *scene) bucket(name string) *unstructured.Unstructured {
	w.T.Helper()
	return w.object("Thing", name, "", fmt.Sprintf("selector: {matchLabels: {of: %q}}", name))
}

// gizmo applies an input of a bucket.
func (w *scene) gizmo(name, bucket, spec string) *unstructured.Unstructured {
	w.T.Helper()
	return w.object("Gizmo", name, "of: "+bucket, spec)
}

// counts checks a parent's status.inputs and status.outputs, as fmt prints them.
func counts(inputs, outputs string) func(*unstructured.Unstructured) error {
	return func(o *unstructured.Unstructured) error {
		status, _ := o.Object["status"].(map[string]any)
		if got, want := fmt.Sprint(status["inputs"], " ", status["outputs"]), inputs+" "+outputs; got != want {
			return fmt.Errorf("status has inputs and outputs %s, want %s", got, want)
		}
		return nil
	}
}

func TestMapMakesOutputs(t *testing.T) {
	w := newMapScene(t)
	name := w.mapped("things", copying, "map")
	parent := w.bucket("b")
	long := strings.Repeat("long-", 40) + "name"
	gizmos, things := w.resource("Gizmo"), w.resource("Thing")
	w.gizmo("one", "b", "text: one")
	w.gizmo("two", "b", "outputs: [two-x, two-y]\ntext: two")
	w.gizmo(long, "b", "text: long")
	w.gizmo("foreign", "other", "text: foreign")
	for output, text := range map[string]string{"b-one": "one", "two-x": "two", "two-y": "two", "b-" + long: "long"} {
		w.WaitFor(env.ConfigMaps, output, hasText(text))
		w.WaitFor(env.ConfigMaps, output, ownedBy(parent))
	}
	output := w.Get(env.ConfigMaps, "b-"+long)
	if want := w.Group + "/Gizmo/" + w.Namespace + "/" + long; output.GetAnnotations()[mapKey] != want || output.GetLabels()[mapKey] == "" {
		t.Errorf("annotation and label of the map key are %q and %q, want %q and a hash of it", output.GetAnnotations()[mapKey], output.GetLabels()[mapKey], want)
	}
	w.WaitFor(things, "b", counts("map[gizmos:map[total:3]]", "map[configmaps:map[total:4]]"))
	w.mustColumns(mapping, name, "True", "Loaded", "1")

	w.Patch(gizmos, "one", `{"spec": {"text": "changed"}}`)
	w.WaitFor(env.ConfigMaps, "b-one", hasText("changed"))
	w.Patch(gizmos, "two", `{"spec": {"outputs": ["two-y"]}}`)
	w.WaitForDeletion(env.ConfigMaps, "two-x", "")
	w.Patch(env.ConfigMaps, "two-y", `{"data": {"text": "drifted"}}`)
	w.WaitFor(env.ConfigMaps, "two-y", hasText("two"))
	w.Delete(gizmos, w.Namespace, "one")
	w.WaitForDeletion(env.ConfigMaps, "b-one", "")
	w.Patch(gizmos, "two", `{"metadata": {"labels": {"of": "nobody"}}}`)
	w.WaitForDeletion(env.ConfigMaps, "two-y", "")
	w.Patch(gizmos, "foreign", `{"metadata": {"labels": {"of": "b"}}}`)
	w.WaitFor(env.ConfigMaps, "b-foreign", hasText("foreign"))
	w.WaitFor(things, "b", counts("map[gizmos:map[total:2]]", "map[configmaps:map[total:2]]"))
	w.Delete(things, w.Namespace, "b")
	w.WaitForDeletion(env.ConfigMaps, "b-foreign", "")
}

// mapServer answers map hooks as copying does, and counts its calls.
type mapServer struct {
	mu    sync.Mutex
	calls map[string]int
}

func (s *mapServer) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	request := struct {
		Input unstructured.Unstructured `json:"input"`
	}{}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	name := request.Input.GetName()
	s.mu.Lock()
	s.calls[name]++
	s.mu.Unlock()
	text, _, _ := unstructured.NestedString(request.Input.Object, "spec", "text")
	fmt.Fprintf(rw, `{"outputs": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "out-%s"}, "data": {"text": %q}}]}`, name, text)
}

// take gives the calls since the last time.
func (s *mapServer) take() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = map[string]int{}
	return calls
}

// mustAsk waits until the hook was called so often about an input since the last time. Such a call need lead to no
// write that Settled would wait for.
func (w *scene) mustAsk(hook *mapServer, input string, times int) {
	w.T.Helper()
	cluster.Eventually(w.T, env.Timeout, func() error {
		hook.mu.Lock()
		defer hook.mu.Unlock()
		if got := hook.calls[input]; got < times {
			return fmt.Errorf("the hook was called %d times about %s, want %d", got, input, times)
		}
		return nil
	})
}

const inputs = 500 // of one parent, in the tests that count calls

// TestMapOf500Inputs counts calls to a script that does not look at outputs: an input that changes costs one, though its
// output changes with it, and the other inputs cost none.
func TestMapOf500Inputs(t *testing.T) {
	w := newMapScene(t)
	name := w.mapped("things", copying, "map")
	w.gizmos(inputs)
	w.bucket("b")
	all := fmt.Sprintf("map[total:%d]]", inputs)
	w.WaitFor(w.resource("Thing"), "b", counts("map[gizmos:"+all, "map[configmaps:"+all))
	w.mustColumns(mapping, name, "True", "Loaded", "1") // The number of parents is told a second later, by a write of its own.
	w.WaitForQuiet()
	calls := w.calls(mapping, name, "map")
	if calls != inputs {
		t.Errorf("%d inputs were mapped by %v calls", inputs, calls)
	}
	mark := w.Mark()
	w.Patch(w.resource("Gizmo"), "g250", `{"spec": {"text": "changed"}}`)
	w.WaitFor(env.ConfigMaps, "b-g250", hasText("changed"))
	w.WaitForQuiet()
	if more := w.calls(mapping, name, "map") - calls; more != 1 {
		t.Errorf("one input of %d changed, and the hook was called %v times", inputs, more)
	}
	if writes := w.Requests(mark).Writes(); len(writes) != 1 {
		t.Errorf("one input of %d changed, and there are %d writes:\n%s", inputs, len(writes), writes)
	}
	w.Patch(env.ConfigMaps, "b-g251", `{"data": {"text": "drifted"}}`)
	w.WaitFor(env.ConfigMaps, "b-g251", hasText("made"))
	w.WaitForQuiet()
	if more := w.calls(mapping, name, "map") - calls; more != 1 {
		t.Errorf("an output of %d was mended, and the hook was called %v times for it", inputs, more-1)
	}
}

// TestWebhookOf500Inputs counts calls to a webhook, of which nobody knows what it looks at. An input that changes costs
// one, and one more if its output changes with it; the other inputs cost none.
func TestWebhookOf500Inputs(t *testing.T) {
	w := newMapScene(t)
	hook := &mapServer{calls: map[string]int{}}
	server := httptest.NewServer(hook)
	defer server.Close()
	name := w.define(mapping, "", w.fromGizmos("things", updatedConfigMaps), fmt.Sprintf("hooks: {map: {webhook: {url: %q}}}", server.URL))
	w.gizmos(inputs)
	w.bucket("b")
	things := w.resource("Thing")
	all := fmt.Sprintf("map[total:%d]]", inputs)
	w.WaitFor(things, "b", counts("map[gizmos:"+all, "map[configmaps:"+all))
	w.mustColumns(mapping, name, "True", "NoScripts", "1")
	w.WaitForQuiet()
	if calls := hook.take(); len(calls) != inputs {
		t.Errorf("%d inputs were mapped, want %d", len(calls), inputs)
	}

	mark := w.Mark()
	w.Patch(w.resource("Gizmo"), "g250", `{"spec": {"text": "changed"}}`)
	w.WaitFor(env.ConfigMaps, "out-g250", hasText("changed"))
	w.mustAsk(hook, "g250", 2)
	w.WaitForQuiet()
	calls := hook.take()
	t.Logf("one input of %d changed, and the hook was called for %v", inputs, calls)
	if len(calls) != 1 || calls["g250"] > 2 {
		t.Errorf("one input of %d changed and the hook was called for %v", inputs, calls)
	}
	if writes := w.Requests(mark).Writes(); len(writes) != 1 {
		t.Errorf("one input of %d changed, and there are %d writes:\n%s", inputs, len(writes), writes)
	}
	w.Patch(w.resource("Gizmo"), "g251", `{"metadata": {"annotations": {"touched": "yes"}}}`)
	w.mustAsk(hook, "g251", 1)
	w.WaitForQuiet()
	if calls := hook.take(); len(calls) != 1 || calls["g251"] != 1 {
		t.Errorf("one input changed and its output did not, and the hook was called for %v, want once for g251", calls)
	}
	// What the hook's answer is not about costs no call at all.
	before := w.passes(mapping, name)
	w.Patch(things, "b", `{"status": {"other": "writer"}}`, "status")
	w.mustPasses(mapping, name, before+1)
	w.WaitForQuiet()
	if calls := hook.take(); len(calls) != 0 {
		t.Errorf("the parent's status changed, and the hook was called for %v", calls)
	}
}

// gizmos creates inputs of the bucket b, some at a time.
func (w *scene) gizmos(count int) {
	w.T.Helper()
	var group errgroup.Group
	group.SetLimit(16)
	for n := range count {
		group.Go(func() error {
			o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": w.Group + "/v1", "kind": "Gizmo", "spec": map[string]any{"text": "made"}}}
			o.SetName(fmt.Sprintf("g%03d", n))
			o.SetLabels(map[string]string{"of": "b"})
			_, err := w.In(w.resource("Gizmo")).Create(w.T.Context(), o, metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		w.T.Fatal(err)
	}
}

// burying keeps the outputs whose name ends in -kept, and adds what the parent's spec.adds names.
const burying = copying + `
export const tombstone = ({parent, outputs}) => ({outputs: [
  ...Object.values(outputs["ConfigMap.v1"]).filter(({metadata: {name}}) => name.endsWith("-kept")),
  ...(parent.spec.adds ?? []).map(name => ({apiVersion: "v1", kind: "ConfigMap", metadata: {name}}))]});`

func TestTombstoneThatKeeps(t *testing.T) {
	w := newMapScene(t)
	w.mapped("things", burying, "map", "tombstone")
	w.bucket("b")
	gizmos, things := w.resource("Gizmo"), w.resource("Thing")
	w.gizmo("one", "b", "outputs: [x-kept, y-dropped]\ntext: one")
	kept := w.WaitFor(env.ConfigMaps, "x-kept", hasText("one"))
	w.WaitFor(env.ConfigMaps, "y-dropped", hasText("one"))

	w.Delete(gizmos, w.Namespace, "one")
	w.WaitForDeletion(env.ConfigMaps, "y-dropped", "")
	w.WaitFor(things, "b", counts("map[gizmos:map[total:0]]", "map[configmaps:map[total:1]]"))

	// Adding to it is refused, and loses nothing.
	w.Patch(things, "b", `{"spec": {"adds": ["z"]}}`)
	w.WaitForEvent("b", "SyncError", "input "+w.Group+"/Gizmo/"+w.Namespace+"/one, which is gone: HookResponseInvalid: tombstone hook: ", "ConfigMap "+w.Namespace+"/z was not sent")
	w.Patch(things, "b", `{"spec": {"adds": null}}`)

	// An input of that name takes over what is left.
	w.gizmo("one", "b", "outputs: [x-kept, z]\ntext: again")
	w.WaitFor(env.ConfigMaps, "z", hasText("again"))
	if again := w.WaitFor(env.ConfigMaps, "x-kept", hasText("again")); again.GetUID() != kept.GetUID() {
		t.Error("the output that was kept was replaced when its input came back")
	}
}

// A tombstone is asked again after the time that it asks for, and its clock goes on.
func TestTombstoneIsAskedAgain(t *testing.T) {
	w := newMapScene(t)
	w.mapped("things", copying+`
export function tombstone({outputs}) {
  const kept = Object.values(outputs["ConfigMap.v1"]).filter(o => Date.now() < Date.parse(o.metadata.creationTimestamp) + 2500);
  return {outputs: kept, resyncAfterSeconds: 0.3};
}`, "map", "tombstone")
	w.bucket("b")
	w.gizmo("one", "b", "text: one")
	w.WaitFor(env.ConfigMaps, "b-one", nil)
	w.Delete(w.resource("Gizmo"), w.Namespace, "one")
	w.WaitForDeletion(env.ConfigMaps, "b-one", "")
}

// A hook of which nobody knows what it will say is asked at every resync, however quiet all is.
func TestMapIsResynced(t *testing.T) {
	w := newMapScene(t)
	hook := &mapServer{calls: map[string]int{}}
	server := httptest.NewServer(hook)
	defer server.Close()
	w.define(mapping, "", w.fromGizmos("things", updatedConfigMaps), fmt.Sprintf("resyncPeriodSeconds: 1\nhooks: {map: {webhook: {url: %q}}}", server.URL))
	w.bucket("b")
	w.gizmo("one", "b", "text: one")
	w.WaitFor(env.ConfigMaps, "out-one", nil)
	w.WaitForQuiet()
	for range 2 {
		hook.take()
		w.mustAsk(hook, "one", 1)
	}
}

func TestTwoInputsWantOneOutput(t *testing.T) {
	w := newMapScene(t)
	w.mapped("things", copying, "map")
	w.bucket("b")
	w.gizmo("second", "b", "outputs: [shared]\ntext: second")
	w.WaitFor(env.ConfigMaps, "shared", hasText("second"))
	w.gizmo("first", "b", "outputs: [shared, own]\ntext: first")
	w.WaitForEvent("b", "SyncError", "input "+w.Group+"/Gizmo/"+w.Namespace+"/first: ", "ConfigMap "+w.Namespace+"/shared stays with input "+w.Group+"/Gizmo/"+w.Namespace+"/second")
	w.WaitFor(env.ConfigMaps, "own", hasText("first"))
	kept := w.WaitFor(env.ConfigMaps, "shared", hasText("second"))
	w.Delete(w.resource("Gizmo"), w.Namespace, "second")
	w.WaitFor(env.ConfigMaps, "shared", hasText("first"))
	if after := w.WaitFor(env.ConfigMaps, "shared", nil); after.GetLabels()[mapKey] == kept.GetLabels()[mapKey] {
		t.Error("the output still has the map key of the input that is gone")
	}
}

func TestInputThatFails(t *testing.T) {
	w := newMapScene(t)
	w.mapped("things", copying, "map")
	w.bucket("b")
	things := w.resource("Thing")
	w.gizmo("bad", "b", "text: good yet")
	w.WaitFor(env.ConfigMaps, "b-bad", hasText("good yet"))
	w.Patch(w.resource("Gizmo"), "bad", `{"spec": {"broken": true}}`)
	w.WaitForEvent("b", "SyncError", "input "+w.Group+"/Gizmo/"+w.Namespace+"/bad: HookFailed: map hook: ", "broken: bad")
	w.gizmo("good", "b", "text: fine")
	w.WaitFor(env.ConfigMaps, "b-good", hasText("fine"))
	w.WaitFor(env.ConfigMaps, "b-bad", hasText("good yet"))
	w.WaitFor(things, "b", counts("map[gizmos:map[total:2]]", "map[configmaps:map[total:2]]"))
	w.Patch(w.resource("Gizmo"), "bad", `{"spec": {"broken": false, "text": "well again"}}`)
	w.WaitFor(env.ConfigMaps, "b-bad", hasText("well again"))
}

// TestMapStatus counts the conditions of outputs that are Gizmos made of Gizmos: outputs are inputs of nobody.
func TestMapStatus(t *testing.T) {
	w := newMapScene(t)
	name := w.define(mapping, "", w.fromGizmos("things", fmt.Sprintf("{apiVersion: %s/v1, resource: gizmos}", w.Group)), hooks(`
export const map = ({input: {apiVersion, kind, metadata}}) => ({outputs: [{apiVersion, kind, metadata: {name: "of-" + metadata.name, labels: metadata.labels}, spec: {made: true}}]});`, "map"))
	w.bucket("b")
	things, gizmos := w.resource("Thing"), w.resource("Gizmo")
	w.Patch(things, "b", `{"status": {"said": "theirs", "inputs": {"others": {"total": 1}}}}`, "status")
	w.gizmo("one", "b", "")
	w.gizmo("two", "b", "")
	w.mustNames(gizmos, "", "of-one", "of-two", "one", "two")
	w.WaitFor(things, "b", counts("map[gizmos:map[total:2] others:map[total:1]]", "map[gizmos:map[total:2]]"))
	for _, set := range []struct{ name, status string }{{"of-one", "True"}, {"of-two", "False"}, {"one", "True"}} {
		w.Patch(gizmos, set.name, fmt.Sprintf(`{"status": {"conditions": [{"type": "Ready", "status": %q}, {"type": "URLKnown", "status": "True"}]}}`, set.status), "status")
	}
	w.WaitFor(things, "b", counts("map[gizmos:map[total:2] others:map[total:1]]", "map[gizmos:map[ready:1 total:2 urlKnown:2]]"))
	parent := w.WaitFor(things, "b", says("theirs"))
	if observed, _, _ := unstructured.NestedInt64(parent.Object, "status", "observedGeneration"); observed != parent.GetGeneration() {
		t.Errorf("observedGeneration is %d, want %d", observed, parent.GetGeneration())
	}
	w.WaitForQuiet()
	w.mustNames(gizmos, "", "of-one", "of-two", "one", "two")
	w.mustColumns(mapping, name, "True", "Loaded", "1")
}

// TestMapOfClusterParent takes inputs of namespaces with a label, and makes outputs beside them.
func TestMapOfClusterParent(t *testing.T) {
	w := newMapScene(t)
	w.Apply(env.CRD(w.Group, "Realm", "Cluster"))
	here, there := w.Namespace, w.Cluster.Namespace(t)
	inputs := fmt.Sprintf("inputResources: [{apiVersion: %s/v1, resource: gizmos, namespaceSelector: {matchLabels: {realm: %s}}}]", w.Group, here)
	w.define(mapping, "", fmt.Sprintf("parentResource: {apiVersion: %s/v1, resource: realms}", w.Group), inputs,
		"outputResources: [{apiVersion: v1, resource: configmaps}]", hooks(copying, "map"))
	w.Apply(fmt.Sprintf("{apiVersion: %s/v1, kind: Realm, metadata: {name: r}}", w.Group))
	other := w.WithT(t)
	other.Namespace = there
	w.gizmo("one", "", "text: here")
	other.Apply(fmt.Sprintf("{apiVersion: %s/v1, kind: Gizmo, metadata: {name: two}, spec: {text: there}}", w.Group))
	realm := func(want string) {
		t.Helper()
		w.ClusterScope().WaitFor(w.resource("Realm"), "r", counts("map[gizmos:map[total:"+want+"]]", "map[configmaps:map[total:"+want+"]]"))
	}
	realm("0")
	w.label(there, `{"realm": "`+here+`"}`)
	other.WaitFor(env.ConfigMaps, "r-two", hasText("there"))
	w.label(here, `{"realm": "`+here+`"}`)
	w.WaitFor(env.ConfigMaps, "r-one", hasText("here"))
	realm("2")
	w.label(there, `{"realm": null}`)
	other.WaitForDeletion(env.ConfigMaps, "r-two", "")
	realm("1")
	other.Patch(w.resource("Gizmo"), "two", `{"spec": {"text": "unseen"}}`)
	w.Patch(w.resource("Gizmo"), "one", `{"spec": {"text": "seen"}}`)
	w.WaitForQuiet()
	if names := w.names(env.ConfigMaps, ""); !slices.Contains(names, "r-one") {
		t.Errorf("the output of an input that stays is gone: %q", names)
	}
	w.ClusterScope().Delete(w.resource("Realm"), "", "r")
	w.WaitForDeletion(env.ConfigMaps, "r-one", "")
}

// TestMapFinalize has outputs taken down one by one, whatever inputs they are of.
func TestMapFinalize(t *testing.T) {
	w := newMapScene(t)
	name := w.mapped("things", copying+`
export function finalize({outputs: observed}) {
  const left = Object.values(observed["ConfigMap.v1"]).sort((a, b) => a.metadata.name < b.metadata.name ? -1 : 1);
  return {outputs: left.slice(0, -1), finalized: left.length === 0};
}`, "map", "finalize")
	parent := w.bucket("b")
	for _, input := range []string{"one", "two", "three"} {
		w.gizmo(input, "b", "text: made")
		w.WaitFor(env.ConfigMaps, "b-"+input, nil)
	}
	w.WaitFor(w.resource("Thing"), "b", held(finalizerOf(mapping, name), true))
	mark := w.Mark()
	w.Delete(w.resource("Thing"), w.Namespace, "b")
	w.WaitForDeletion(w.resource("Thing"), "b", parent.GetUID())
	if got, want := (&finalizing{scene: w}).deletions(mark), []string{"b-two", "b-three", "b-one"}; !slices.Equal(got, want) {
		t.Errorf("outputs were taken down in the order %q, want %q", got, want)
	}
}
