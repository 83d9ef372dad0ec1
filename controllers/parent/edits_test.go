package parent

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// editedHook is a kind of hook: what it reads beside parent.spec and children, and what it does.
type editedHook struct {
	reads     []string
	unknown   bool // What it reads is.
	labels    bool // It copies a label of the parent to its children.
	sets      bool // It sets a label of the parent.
	noStatus  bool
	memory    bool // It reads the status once it has children.
	throws    bool // It fails for the text "bad".
	lateThing bool // The events of parents may be late, too.
}

var editedHooks = map[string]editedHook{
	"Spec":     {lateThing: true},
	"Labels":   {reads: []string{"parent.metadata.labels"}, labels: true, lateThing: true},
	"Sets":     {sets: true, lateThing: true},
	"NoStatus": {noStatus: true, lateThing: true},
	"Unknown":  {unknown: true, labels: true, lateThing: true},
	"Memory":   {memory: true},
	"Throws":   {throws: true},
}

// oldText is what children have that were made by a hook which has not seen its last status.
const oldText = "made of an old status"

// editedScene is a cluster, a host, and what the hook has answered.
type editedScene struct {
	editedHook
	t       *testing.T
	random  *rand.Rand
	cluster *memcluster.Cluster
	clock   *clocktesting.FakeClock
	host    *editedHost
	things  dynamic.ResourceInterface
	maps    dynamic.ResourceInterface
	// last are the statuses that the hook answered last, by the UID of the parent.
	last  map[string]map[string]any
	trace []string
}

func (s *editedScene) answer(request map[string]any) (engines.Response, error) {
	parent := &unstructured.Unstructured{Object: request["parent"].(map[string]any)}
	shown, _ := request["children"].([]any)
	response := engines.Response{Read: append(engines.ReadSet{"children", "parent.metadata.name", "parent.spec"}, s.reads...)}
	if s.unknown {
		response.Read, response.TimeDependent = nil, true
	}
	if request["finalizing"] == true {
		response.Body = map[string]any{"children": []any{}, "finalized": len(shown) == 0}
		return response, nil
	}
	text, _, _ := unstructured.NestedString(parent.Object, "spec", "text")
	if s.throws && text == "bad" {
		return engines.Response{}, &engines.Error{Message: "bad"}
	}
	status, last := map[string]any{"text": text, "shown": int64(len(shown))}, s.last[string(parent.GetUID())]
	if s.memory && len(shown) > 0 {
		response.Read = append(response.Read, "parent.status")
		if last != nil && !cmp.Equal(last, jsonvalue.ObjectIn(parent.Object, "status")) {
			text = oldText
		}
	}
	if text != oldText {
		s.last[string(parent.GetUID())] = status
	}
	body := map[string]any{"status": status, "children": s.children(parent, text)}
	if s.noStatus {
		delete(body, "status")
	}
	if s.sets {
		body["label"] = "t-" + text
	}
	response.Body = body
	return response, nil
}

func (s *editedScene) children(parent *unstructured.Unstructured, text string) []any {
	count, _, _ := unstructured.NestedInt64(parent.Object, "spec", "count")
	data := map[string]any{"text": text}
	if s.labels {
		data["label"] = parent.GetLabels()["user"]
	}
	children := []any{}
	for n := range count {
		children = append(children, map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "data": data, "metadata": map[string]any{"name": fmt.Sprint(parent.GetName(), "-", n)},
		})
	}
	return children
}

// edit does something at random.
func (s *editedScene) edit() {
	ctx, name := s.t.Context(), fmt.Sprint("p", s.random.IntN(2))
	child := fmt.Sprint(name, "-", s.random.IntN(3))
	text := []string{"a", "b", "bad"}[s.random.IntN(3)]
	patch := func(at dynamic.ResourceInterface, name, patch string, sub ...string) error {
		_, err := at.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, sub...)
		return err
	}
	edits := []struct {
		name string
		do   func() error
	}{
		{"spec of " + name + " " + text, func() error { return patch(s.things, name, `{"spec":{"text":"`+text+`"}}`) }},
		{"count of " + name, func() error { return patch(s.things, name, fmt.Sprintf(`{"spec":{"count":%d}}`, s.random.IntN(4))) }},
		{"label of " + name + " " + text, func() error { return patch(s.things, name, `{"metadata":{"labels":{"user":"`+text+`"}}}`) }},
		{"set label of " + name, func() error { return patch(s.things, name, `{"metadata":{"labels":{"set":null}}}`) }},
		{"annotation of " + name, func() error { return patch(s.things, name, `{"metadata":{"annotations":{"user":"`+text+`"}}}`) }},
		{"status of " + name, func() error { return patch(s.things, name, `{"status":{"text":"other"}}`, "status") }},
		{"data of " + child, func() error { return patch(s.maps, child, `{"data":{"text":"other"}}`) }},
		{"label of " + child, func() error { return patch(s.maps, child, `{"metadata":{"labels":{"other":"`+text+`"}}}`) }},
		{"deletion of " + child, func() error { return s.maps.Delete(ctx, child, metav1.DeleteOptions{}) }},
		{"deletion of " + name, func() error { return s.things.Delete(ctx, name, metav1.DeleteOptions{}) }},
		{"creation of " + name, func() error { return s.create(name) }},
		{"late children", func() error { s.cluster.PauseWatch(editedChildren.GroupVersionResource); return nil }},
		{"late parents", func() error {
			if s.lateThing {
				s.cluster.PauseWatch(editedThings.GroupVersionResource)
			}
			return nil
		}},
		{"no more late", func() error { s.cluster.ResumeWatches(); return nil }},
		{"new process", func() error { s.restart(); return nil }},
	}
	e := edits[s.random.IntN(len(edits))]
	if (s.memory || s.throws) && strings.HasPrefix(e.name, "status") {
		return // That of the last answer is looked at.
	}
	err := e.do()
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) {
		s.t.Fatalf("%s: %v", e.name, err)
	}
	s.trace = append(s.trace, fmt.Sprintf("%s (%v)", e.name, err))
}

func (s *editedScene) create(name string) error {
	_, err := s.things.Create(s.t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": name, "namespace": "default"},
		"spec": map[string]any{"count": int64(2), "text": "a"},
	}}, metav1.CreateOptions{})
	return err
}

func (s *editedScene) restart() {
	if s.host != nil {
		s.host.close()
		s.cluster = s.cluster.Copy(s.clock) // Without the watches of the last process.
	}
	clear(s.last) // What was not written is lost.
	client := s.cluster.Client(nil)
	s.things = client.Resource(editedThings.GroupVersionResource).Namespace("default")
	s.maps = client.Resource(editedChildren.GroupVersionResource).Namespace("default")
	s.host = startEdited(s.t, s.cluster, s.clock, editedProgram{answer: s.answer}, false, func(w memcluster.Write) {
		if text, _, _ := unstructured.NestedString(w.Sent, "data", "text"); text == oldText {
			s.t.Errorf("after\n%s\nthe hook's answer to an old status is applied", strings.Join(s.trace, "\n"))
		}
	})
}

// drain makes passes until none is due.
func (s *editedScene) drain() {
	s.cluster.ResumeWatches()
	s.host.settleEvents()
	for n := 0; s.host.pass(10 * time.Second); n++ {
		if s.host.settleEvents(); n > 300 && !s.throws {
			s.t.Fatalf("the host makes pass after pass after\n%s", strings.Join(s.trace, "\n"))
		} else if n > 60 && s.throws {
			return // A failing hook is called again and again.
		}
	}
}

// TestEditsAreNotIgnored makes edits at random, some of which the host is shown late, and then has a host that remembers nothing look at
// the result of them: it must find nothing to do.
func TestEditsAreNotIgnored(t *testing.T) {
	for name, hook := range editedHooks {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(15) {
				runEdits(t, hook, seed)
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

func runEdits(t *testing.T, hook editedHook, seed uint64) {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	cluster := memcluster.New(clock, append(memcluster.BuiltIn(), memcluster.Resource{Resource: editedThings, Generation: true})...)
	s := &editedScene{
		editedHook: hook, t: t, random: rand.New(rand.NewPCG(seed, 1)), cluster: cluster, clock: clock, last: map[string]map[string]any{},
	}
	s.restart()
	defer func() { s.host.close() }()
	for range 30 {
		s.edit()
		s.host.settleEvents()
		for range s.random.IntN(4) {
			if s.host.pass(time.Duration(s.random.IntN(1500)) * time.Millisecond) {
				s.trace = append(s.trace, "  pass")
			}
			s.host.settleEvents()
		}
	}
	for range 4 { // Also after one edit alone, when all is done.
		s.drain()
		if s.throws {
			s.wantLastStatus()
		}
		s.wantNothingToDo()
		s.edit()
	}
}

// wantLastStatus checks that parents have the status that the hook answered last, also if it fails since.
func (s *editedScene) wantLastStatus() {
	all, err := s.things.List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range all.Items {
		thing := &all.Items[i]
		if last := s.last[string(thing.GetUID())]; last != nil && !cmp.Equal(last, jsonvalue.ObjectIn(thing.Object, "status")) {
			s.t.Errorf("after\n%s\n%s has the status %v, and the hook's last was %v",
				strings.Join(s.trace, "\n"), thing.GetName(), jsonvalue.ObjectIn(thing.Object, "status"), last)
		}
	}
}

// wantNothingToDo has a host that remembers nothing make a pass over each parent.
func (s *editedScene) wantNothingToDo() {
	var writes []string
	fresh := startEdited(s.t, s.cluster.Copy(s.clock), s.clock, editedProgram{answer: s.answer}, true, func(w memcluster.Write) {
		writes = append(writes, fmt.Sprintf("%s %s %s: %v", w.Verb, w.Kind.Kind, w.Name, w.Sent))
	})
	defer fresh.close()
	for range 2 {
		fresh.pass(time.Second)
		fresh.settleEvents()
	}
	if len(writes) > 0 {
		s.t.Errorf("after\n%s\na host that remembers nothing writes\n%s", strings.Join(s.trace, "\n"), strings.Join(writes, "\n"))
	}
}
