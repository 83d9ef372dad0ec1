package kinds

import (
	"encoding/json"
	"errors"
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
func fromGizmos(e *env.Env, parents, outputs string) string {
	return fmt.Sprintf("parentResource: {apiVersion: %[1]s/v1, resource: %[2]s}\ninputResources: [{apiVersion: %[1]s/v1, resource: gizmos}]\noutputResources: [%[3]s]",
		e.Group, parents, outputs)
}

// mapped applies a MapController of Things (or of other parents) from Gizmos to ConfigMaps.
func mapped(e *env.Env, parents, script string, names ...string) string {
	e.T.Helper()
	return e.DefineReady(env.Map, "", fromGizmos(e, parents, env.UpdatedConfigMaps), env.Hooks(script, names...))
}

// newMapScene has Gizmos too.
func newMapScene(t *testing.T) *env.Env {
	t.Helper()
	e := env.NewRunning(t)
	e.Apply(env.CRD(e.Group, "Gizmo", "Namespaced"))
	return e
}

// bucket applies a Thing that selects the Gizmos with the label of: <name>.
func bucket(e *env.Env, name string) *unstructured.Unstructured {
	e.T.Helper()
	return e.ApplyThing(name, "", fmt.Sprintf("selector: {matchLabels: {of: %q}}", name))
}

// gizmo applies an input of a bucket.
func gizmo(e *env.Env, name, bucket, spec string) *unstructured.Unstructured {
	e.T.Helper()
	return e.ApplyCustom("Gizmo", name, "of: "+bucket, spec)
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
	e := newMapScene(t)
	name := mapped(e, "things", copying, "map")
	parent := bucket(e, "b")
	long := strings.Repeat("long-", 40) + "name"
	gizmos, things := e.Resource("Gizmo"), e.Things()
	gizmo(e, "one", "b", "text: one")
	gizmo(e, "two", "b", "outputs: [two-x, two-y]\ntext: two")
	gizmo(e, long, "b", "text: long")
	gizmo(e, "foreign", "other", "text: foreign")
	for output, text := range map[string]string{"b-one": "one", "two-x": "two", "two-y": "two", "b-" + long: "long"} {
		e.WaitFor(env.ConfigMaps, output, env.HasText(text))
		e.WaitFor(env.ConfigMaps, output, env.OwnedBy(parent))
	}
	output := e.Get(env.ConfigMaps, "b-"+long)
	if want := e.Group + "/Gizmo/" + e.Namespace + "/" + long; output.GetAnnotations()[mapKey] != want || output.GetLabels()[mapKey] == "" {
		t.Errorf("annotation and label of the map key are %q and %q, want %q and a hash of it", output.GetAnnotations()[mapKey],
			output.GetLabels()[mapKey], want)
	}
	e.WaitFor(things, "b", counts("map[gizmos:map[total:3]]", "map[configmaps:map[total:4]]"))
	e.WaitForColumns(env.Map, name, "True", "Loaded", "1")

	e.Patch(gizmos, "one", `{"spec": {"text": "changed"}}`)
	e.WaitFor(env.ConfigMaps, "b-one", env.HasText("changed"))
	e.Patch(gizmos, "two", `{"spec": {"outputs": ["two-y"]}}`)
	e.WaitForDeletion(env.ConfigMaps, "two-x", "")
	e.Patch(env.ConfigMaps, "two-y", `{"data": {"text": "drifted"}}`)
	e.WaitFor(env.ConfigMaps, "two-y", env.HasText("two"))
	e.Delete(gizmos, e.Namespace, "one")
	e.WaitForDeletion(env.ConfigMaps, "b-one", "")
	e.Patch(gizmos, "two", `{"metadata": {"labels": {"of": "nobody"}}}`)
	e.WaitForDeletion(env.ConfigMaps, "two-y", "")
	e.Patch(gizmos, "foreign", `{"metadata": {"labels": {"of": "b"}}}`)
	e.WaitFor(env.ConfigMaps, "b-foreign", env.HasText("foreign"))
	e.WaitFor(things, "b", counts("map[gizmos:map[total:2]]", "map[configmaps:map[total:2]]"))
	e.Delete(things, e.Namespace, "b")
	e.WaitForDeletion(env.ConfigMaps, "b-foreign", "")
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
	fmt.Fprintf(rw, `{"outputs": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "out-%s"}, "data": {"text": %q}}]}`, name,
		text)
}

// take returns the calls since the last time.
func (s *mapServer) take() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = map[string]int{}
	return calls
}

// mustAsk waits until the hook was called so often about an input since the last time. Such a call need lead to no
// write that WaitForQuiet would wait for.
func mustAsk(e *env.Env, hook *mapServer, input string, times int) {
	e.T.Helper()
	e.Eventually(func() error {
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
	e := newMapScene(t)
	name := mapped(e, "things", copying, "map")
	gizmos(e, inputs)
	bucket(e, "b")
	all := fmt.Sprintf("map[total:%d]]", inputs)
	e.WaitFor(e.Things(), "b", counts("map[gizmos:"+all, "map[configmaps:"+all))
	e.WaitForColumns(env.Map, name, "True", "Loaded", "1") // The number of parents is reported a second later, by a write of its own.
	e.WaitForQuiet()
	calls := e.HookCalls(env.Map, name, "map")
	if calls != inputs {
		t.Errorf("%d inputs were mapped by %v calls", inputs, calls)
	}
	mark := e.Mark()
	e.Patch(e.Resource("Gizmo"), "g250", `{"spec": {"text": "changed"}}`)
	e.WaitFor(env.ConfigMaps, "b-g250", env.HasText("changed"))
	e.WaitForQuiet()
	if more := e.HookCalls(env.Map, name, "map") - calls; more != 1 {
		t.Errorf("one input of %d changed, and the hook was called %v times", inputs, more)
	}
	if writes := e.Requests(mark).Writes(); len(writes) != 1 {
		t.Errorf("one input of %d changed, and there are %d writes:\n%s", inputs, len(writes), writes)
	}
	e.Patch(env.ConfigMaps, "b-g251", `{"data": {"text": "drifted"}}`)
	e.WaitFor(env.ConfigMaps, "b-g251", env.HasText("made"))
	e.WaitForQuiet()
	if more := e.HookCalls(env.Map, name, "map") - calls; more != 1 {
		t.Errorf("an output of %d was mended, and the hook was called %v times for it", inputs, more-1)
	}
}

// TestWebhookOf500Inputs counts calls to a webhook, which may look at anything. An input that changes costs
// one, and one more if its output changes with it; the other inputs cost none.
func TestWebhookOf500Inputs(t *testing.T) {
	e := newMapScene(t)
	hook := &mapServer{calls: map[string]int{}}
	server := httptest.NewServer(hook)
	defer server.Close()
	name := e.DefineReady(env.Map, "", fromGizmos(e, "things", env.UpdatedConfigMaps),
		fmt.Sprintf("hooks: {map: {webhook: {url: %q}}}", server.URL))
	gizmos(e, inputs)
	bucket(e, "b")
	things := e.Things()
	all := fmt.Sprintf("map[total:%d]]", inputs)
	e.WaitFor(things, "b", counts("map[gizmos:"+all, "map[configmaps:"+all))
	e.WaitForColumns(env.Map, name, "True", "NoScripts", "1")
	e.WaitForQuiet()
	if calls := hook.take(); len(calls) != inputs {
		t.Errorf("%d inputs were mapped, want %d", len(calls), inputs)
	}

	mark := e.Mark()
	e.Patch(e.Resource("Gizmo"), "g250", `{"spec": {"text": "changed"}}`)
	e.WaitFor(env.ConfigMaps, "out-g250", env.HasText("changed"))
	mustAsk(e, hook, "g250", 2)
	e.WaitForQuiet()
	calls := hook.take()
	t.Logf("one input of %d changed, and the hook was called for %v", inputs, calls)
	if len(calls) != 1 || calls["g250"] > 2 {
		t.Errorf("one input of %d changed and the hook was called for %v", inputs, calls)
	}
	if writes := e.Requests(mark).Writes(); len(writes) != 1 {
		t.Errorf("one input of %d changed, and there are %d writes:\n%s", inputs, len(writes), writes)
	}
	e.Patch(e.Resource("Gizmo"), "g251", `{"metadata": {"annotations": {"touched": "yes"}}}`)
	mustAsk(e, hook, "g251", 1)
	e.WaitForQuiet()
	if calls := hook.take(); len(calls) != 1 || calls["g251"] != 1 {
		t.Errorf("one input changed and its output did not, and the hook was called for %v, want once for g251", calls)
	}
	// What the hook's answer is not about costs no call at all.
	before := e.ReconcilesOf(env.Map, name, "success")
	e.Patch(things, "b", `{"status": {"other": "writer"}}`, "status")
	e.WaitForReconcilesOf(env.Map, name, before+1)
	e.WaitForQuiet()
	if calls := hook.take(); len(calls) != 0 {
		t.Errorf("the parent's status changed, and the hook was called for %v", calls)
	}
}

// gizmos creates inputs of the bucket b, some at a time.
func gizmos(e *env.Env, count int) {
	e.T.Helper()
	var group errgroup.Group
	group.SetLimit(16)
	for n := range count {
		group.Go(func() error {
			o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": e.Group + "/v1", "kind": "Gizmo",
				"spec": map[string]any{"text": "made"}}}
			o.SetName(fmt.Sprintf("g%03d", n))
			o.SetLabels(map[string]string{"of": "b"})
			_, err := e.In(e.Resource("Gizmo")).Create(e.T.Context(), o, metav1.CreateOptions{})
			return err
		})
	}
	e.NoError(group.Wait())
}

// burying keeps the outputs whose name ends in -kept, and adds what the parent's spec.adds names.
const burying = copying + `
export const tombstone = ({parent, outputs}) => ({outputs: [
  ...Object.values(outputs["ConfigMap.v1"]).filter(({metadata: {name}}) => name.endsWith("-kept")),
  ...(parent.spec.adds ?? []).map(name => ({apiVersion: "v1", kind: "ConfigMap", metadata: {name}}))]});`

func TestTombstoneThatKeeps(t *testing.T) {
	e := newMapScene(t)
	mapped(e, "things", burying, "map", "tombstone")
	bucket(e, "b")
	gizmos, things := e.Resource("Gizmo"), e.Things()
	gizmo(e, "one", "b", "outputs: [x-kept, y-dropped]\ntext: one")
	kept := e.WaitFor(env.ConfigMaps, "x-kept", env.HasText("one"))
	e.WaitFor(env.ConfigMaps, "y-dropped", env.HasText("one"))

	e.Delete(gizmos, e.Namespace, "one")
	e.WaitForDeletion(env.ConfigMaps, "y-dropped", "")
	e.WaitFor(things, "b", counts("map[gizmos:map[total:0]]", "map[configmaps:map[total:1]]"))

	// Adding to it is refused, and loses nothing.
	e.Patch(things, "b", `{"spec": {"adds": ["z"]}}`)
	e.WaitForEvent("b", "SyncError", "input "+e.Group+"/Gizmo/"+e.Namespace+"/one, which is gone: HookResponseInvalid: tombstone hook: ",
		"ConfigMap "+e.Namespace+"/z was not sent")
	e.Patch(things, "b", `{"spec": {"adds": null}}`)

	// An input of that name takes over what is left.
	gizmo(e, "one", "b", "outputs: [x-kept, z]\ntext: again")
	e.WaitFor(env.ConfigMaps, "z", env.HasText("again"))
	if again := e.WaitFor(env.ConfigMaps, "x-kept", env.HasText("again")); again.GetUID() != kept.GetUID() {
		t.Error("the output that was kept was replaced when its input came back")
	}
}

// A tombstone is asked again after the time that it asks for, and its clock goes on.
func TestTombstoneIsAskedAgain(t *testing.T) {
	e := newMapScene(t)
	mapped(e, "things", copying+`
export function tombstone({outputs}) {
  const kept = Object.values(outputs["ConfigMap.v1"]).filter(o => Date.now() < Date.parse(o.metadata.creationTimestamp) + 2500);
  return {outputs: kept, resyncAfterSeconds: 0.3};
}`, "map", "tombstone")
	bucket(e, "b")
	gizmo(e, "one", "b", "text: one")
	e.WaitFor(env.ConfigMaps, "b-one", nil)
	e.Delete(e.Resource("Gizmo"), e.Namespace, "one")
	e.WaitForDeletion(env.ConfigMaps, "b-one", "")
}

// A webhook is called at every resync, even if nothing changes.
func TestMapIsResynced(t *testing.T) {
	e := newMapScene(t)
	hook := &mapServer{calls: map[string]int{}}
	server := httptest.NewServer(hook)
	defer server.Close()
	e.DefineReady(env.Map, "", fromGizmos(e, "things", env.UpdatedConfigMaps),
		fmt.Sprintf("resyncPeriodSeconds: 1\nhooks: {map: {webhook: {url: %q}}}", server.URL))
	bucket(e, "b")
	gizmo(e, "one", "b", "text: one")
	e.WaitFor(env.ConfigMaps, "out-one", nil)
	e.WaitForQuiet()
	for range 2 {
		hook.take()
		mustAsk(e, hook, "one", 1)
	}
}

func TestTwoInputsWantOneOutput(t *testing.T) {
	e := newMapScene(t)
	mapped(e, "things", copying, "map")
	bucket(e, "b")
	gizmo(e, "second", "b", "outputs: [shared]\ntext: second")
	e.WaitFor(env.ConfigMaps, "shared", env.HasText("second"))
	gizmo(e, "first", "b", "outputs: [shared, own]\ntext: first")
	e.WaitForEvent("b", "SyncError", "input "+e.Group+"/Gizmo/"+e.Namespace+"/first: ",
		"ConfigMap "+e.Namespace+"/shared stays with input "+e.Group+"/Gizmo/"+e.Namespace+"/second")
	e.WaitFor(env.ConfigMaps, "own", env.HasText("first"))
	kept := e.WaitFor(env.ConfigMaps, "shared", env.HasText("second"))
	e.Delete(e.Resource("Gizmo"), e.Namespace, "second")
	e.WaitFor(env.ConfigMaps, "shared", env.HasText("first"))
	if after := e.WaitFor(env.ConfigMaps, "shared", nil); after.GetLabels()[mapKey] == kept.GetLabels()[mapKey] {
		t.Error("the output still has the map key of the input that is gone")
	}
}

func TestInputThatFails(t *testing.T) {
	e := newMapScene(t)
	name := mapped(e, "things", copying, "map")
	waitForInputs := func(synced, failing int64) {
		t.Helper()
		e.ClusterScope().WaitFor(env.MapControllers, name, func(o *unstructured.Unstructured) error {
			return errors.Join(env.HasField(synced, "status", "syncedInputs")(o), env.HasField(failing, "status", "failingInputs")(o))
		})
	}
	bucket(e, "b")
	things := e.Things()
	gizmo(e, "bad", "b", "text: good yet")
	e.WaitFor(env.ConfigMaps, "b-bad", env.HasText("good yet"))
	e.Patch(e.Resource("Gizmo"), "bad", `{"spec": {"broken": true}}`)
	e.WaitForEvent("b", "SyncError", "input "+e.Group+"/Gizmo/"+e.Namespace+"/bad: HookFailed: map hook: ", "broken: bad")
	gizmo(e, "good", "b", "text: fine")
	e.WaitFor(env.ConfigMaps, "b-good", env.HasText("fine"))
	e.WaitFor(env.ConfigMaps, "b-bad", env.HasText("good yet"))
	e.WaitFor(things, "b", counts("map[gizmos:map[total:2]]", "map[configmaps:map[total:2]]"))
	waitForInputs(1, 1)
	e.WaitForConditionOf(env.Map, name, "ParentsSynced", "False", "HookFailed", "1 of 1 parent fails: Thing "+e.Namespace+"/b: input ", "broken: bad")
	e.Patch(e.Resource("Gizmo"), "bad", `{"spec": {"broken": false, "text": "well again"}}`)
	e.WaitFor(env.ConfigMaps, "b-bad", env.HasText("well again"))
	waitForInputs(2, 0)
}

// TestMapStatus counts the conditions of outputs that are Gizmos made of Gizmos: outputs are no inputs.
func TestMapStatus(t *testing.T) {
	e := newMapScene(t)
	name := e.DefineReady(env.Map, "", fromGizmos(e, "things", fmt.Sprintf("{apiVersion: %s/v1, resource: gizmos}", e.Group)), env.Hooks(`
export const map = ({input: {apiVersion, kind, metadata}}) => ({outputs: [{apiVersion, kind, metadata: {name: "of-" + metadata.name, labels: metadata.labels}, spec: {made: true}}]});`, "map"))
	bucket(e, "b")
	things, gizmos := e.Things(), e.Resource("Gizmo")
	e.Patch(things, "b", `{"status": {"said": "theirs", "inputs": {"others": {"total": 1}}}}`, "status")
	gizmo(e, "one", "b", "")
	gizmo(e, "two", "b", "")
	e.WaitForNames(gizmos, "", "of-one", "of-two", "one", "two")
	e.WaitFor(things, "b", counts("map[gizmos:map[total:2] others:map[total:1]]", "map[gizmos:map[total:2]]"))
	for _, set := range []struct{ name, status string }{{"of-one", "True"}, {"of-two", "False"}, {"one", "True"}} {
		e.Patch(gizmos, set.name, fmt.Sprintf(`{"status": {"conditions": [{"type": "Ready", "status": %q}, {"type": "URLKnown", "status": "True"}]}}`, set.status), "status")
	}
	e.WaitFor(things, "b", counts("map[gizmos:map[total:2] others:map[total:1]]", "map[gizmos:map[ready:1 total:2 urlKnown:2]]"))
	parent := e.WaitFor(things, "b", env.HasSaid("theirs"))
	if observed, _, _ := unstructured.NestedInt64(parent.Object, "status", "observedGeneration"); observed != parent.GetGeneration() {
		t.Errorf("observedGeneration is %d, want %d", observed, parent.GetGeneration())
	}
	e.WaitForQuiet()
	e.WaitForNames(gizmos, "", "of-one", "of-two", "one", "two")
	e.WaitForColumns(env.Map, name, "True", "Loaded", "1")
}

// TestMapOfClusterParent takes inputs of namespaces with a label, and makes outputs beside them.
func TestMapOfClusterParent(t *testing.T) {
	e := newMapScene(t)
	e.Apply(env.CRD(e.Group, "Realm", "Cluster"))
	here, there := e.Namespace, e.Cluster.Namespace(t)
	inputs := fmt.Sprintf("inputResources: [{apiVersion: %s/v1, resource: gizmos, namespaceSelector: {matchLabels: {realm: %s}}}]", e.Group,
		here)
	e.DefineReady(env.Map, "", e.Parent("realms", ""), inputs,
		"outputResources: [{apiVersion: v1, resource: configmaps}]", env.Hooks(copying, "map"))
	e.Apply(fmt.Sprintf("{apiVersion: %s/v1, kind: Realm, metadata: {name: r}}", e.Group))
	other := e.WithT(t)
	other.Namespace = there
	gizmo(e, "one", "", "text: here")
	other.Apply(fmt.Sprintf("{apiVersion: %s/v1, kind: Gizmo, metadata: {name: two}, spec: {text: there}}", e.Group))
	realm := func(want string) {
		t.Helper()
		e.ClusterScope().WaitFor(e.Resource("Realm"), "r", counts("map[gizmos:map[total:"+want+"]]", "map[configmaps:map[total:"+want+"]]"))
	}
	realm("0")
	label(e, there, `{"realm": "`+here+`"}`)
	other.WaitFor(env.ConfigMaps, "r-two", env.HasText("there"))
	label(e, here, `{"realm": "`+here+`"}`)
	e.WaitFor(env.ConfigMaps, "r-one", env.HasText("here"))
	realm("2")
	label(e, there, `{"realm": null}`)
	other.WaitForDeletion(env.ConfigMaps, "r-two", "")
	realm("1")
	other.Patch(e.Resource("Gizmo"), "two", `{"spec": {"text": "unseen"}}`)
	e.Patch(e.Resource("Gizmo"), "one", `{"spec": {"text": "seen"}}`)
	e.WaitForQuiet()
	if names := e.Names(env.ConfigMaps, ""); !slices.Contains(names, "r-one") {
		t.Errorf("the output of an input that stays is gone: %q", names)
	}
	e.ClusterScope().Delete(e.Resource("Realm"), "", "r")
	e.WaitForDeletion(env.ConfigMaps, "r-one", "")
}

// TestMapFinalize has outputs taken down one by one, whatever inputs they are of.
func TestMapFinalize(t *testing.T) {
	e := newMapScene(t)
	name := mapped(e, "things", copying+`
export function finalize({outputs: observed}) {
  const left = Object.values(observed["ConfigMap.v1"]).sort((a, b) => a.metadata.name < b.metadata.name ? -1 : 1);
  return {outputs: left.slice(0, -1), finalized: left.length === 0};
}`, "map", "finalize")
	parent := bucket(e, "b")
	for _, input := range []string{"one", "two", "three"} {
		gizmo(e, input, "b", "text: made")
		e.WaitFor(env.ConfigMaps, "b-"+input, nil)
	}
	e.WaitFor(e.Things(), "b", env.HasFinalizer(finalizerOf(env.Map, name), true))
	mark := e.Mark()
	e.Delete(e.Things(), e.Namespace, "b")
	e.WaitForDeletion(e.Things(), "b", parent.GetUID())
	if got, want := (&finalizing{Env: e}).deletions(mark), []string{"b-two", "b-three", "b-one"}; !slices.Equal(got, want) {
		t.Errorf("outputs were taken down in the order %q, want %q", got, want)
	}
}
