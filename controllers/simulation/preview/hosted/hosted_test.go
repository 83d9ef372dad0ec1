package hosted

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/controllers/definition"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/simulation"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/informer"
	"github.com/libretto-k8s/libretto/scripts"
)

const definitionText = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: boxes}
spec:
  generateSelector: true
  parentResource: {apiVersion: example.com/v1, resource: boxes, revisionHistory: {scriptChanges: Rolling}}
  childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: METHOD}}, {apiVersion: v1, resource: secrets}]
  hooks:
    sync: {SYNC}
    finalize: {script: {inline: "", engine: JavaScript}}
    CUSTOMIZE
`

// hook is a hook that is a function.
type hook struct {
	engines.ProgramBase
	answer func(call engines.Call) (any, error)
}

func (h hook) Run(_ context.Context, call engines.Call) (engines.Response, error) {
	body, err := h.answer(call)
	var e *engines.Error
	return engines.Response{Body: body, Remote: errors.As(err, &e) && e.RetryAfter > 0}, err
}

// texts are the hooks of a revision.
type texts map[string]engines.Program

// making returns hooks that make these ConfigMaps of each Box, with a value, and Secrets of what begins with -s. Boxes whose name is among failing fail.
func making(value string, suffixes []string, failing ...string) texts {
	answer := func(call engines.Call) (any, error) {
		name, _, _ := unstructured.NestedString(call.Request, "parent", "metadata", "name")
		if slices.Contains(failing, name) {
			return nil, &engines.Error{Message: "TypeError: no", Location: engines.Location{File: "sync.js", Line: 3, Column: 9}}
		}
		children := []any{}
		for _, suffix := range suffixes {
			kind := "ConfigMap"
			if strings.HasPrefix(suffix, "-s") {
				kind = "Secret"
			}
			children = append(children, map[string]any{
				"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name + suffix}, "data": map[string]any{"v": value},
			})
		}
		_, finalizing := call.Request["finalizing"].(bool)
		return map[string]any{"children": children, "finalized": finalizing && len(children) == 0}, nil
	}
	return texts{"sync": hook{answer: answer}, "finalize": hook{answer: answer}}
}

func (t texts) with(name string, answer func(engines.Call) (any, error)) texts {
	t[name] = hook{answer: answer}
	return t
}

var three = []string{"-0", "-1", "-2"}

// scene is a host with synced caches of a cluster in memory, in which a revision has settled.
type scene struct {
	plan       *plan.Plan
	reconciler *parent.Reconciler
	pool       *informer.Pool
	serving    texts
}

const script = `script: {inline: "", engine: JavaScript}`

// settled returns what a revision has made of boxes. edit changes the objects afterwards.
func settled(t testing.TB, method, sync, customize string, serving texts, boxes int, edit func(*unstructured.Unstructured)) scene {
	t.Helper()
	var objects []*unstructured.Unstructured
	for i := range boxes {
		objects = append(objects, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Box", "metadata": map[string]any{"name": fmt.Sprintf("b%03d", i), "namespace": "default"},
			"spec": map[string]any{},
		}})
	}
	text := strings.NewReplacer("METHOD", method, "SYNC", sync, "CUSTOMIZE", customize).Replace(definitionText)
	return settledOf(t, text, objects, serving, func(all []*unstructured.Unstructured) []*unstructured.Unstructured {
		for _, object := range all {
			if edit != nil {
				edit(object)
			}
		}
		return all
	})
}

// settledOf returns what a revision of a definition has made of objects. edit returns the changes of all objects afterwards.
func settledOf(
	t testing.TB, text string, objects []*unstructured.Unstructured, serving texts,
	edit func([]*unstructured.Unstructured) []*unstructured.Unstructured,
) scene {
	t.Helper()
	box, err := memcluster.Custom("example.com/v1", "Box", "boxes", true, true)
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	base, err := stage.NewBase(object, []memcluster.Resource{box}, stage.Host{HostNamespace: "libretto"}, time.Unix(0, 0))
	if err != nil || base.Refusal != nil {
		t.Fatal(err, base.Refusal)
	}
	in := simulation.Input{
		Definition: base.Definition, Plan: base.Plan, Resources: []memcluster.Resource{box}, Programs: serving, Schemas: base.Schemas,
		Clock: clocktesting.NewFakeClock(time.Unix(0, 0)), Log: logr.Discard(), Scripts: &simulation.Scripts{Revision: servingID},
	}
	in.Objects = objects
	session, err := simulation.Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for range 3 {
		for _, object := range in.Objects {
			if object.GetKind() != "Box" {
				continue
			}
			if _, err := session.Reconcile(t.Context(), object); err != nil {
				t.Fatal(err)
			}
		}
	}
	cluster := memcluster.New(in.Clock, append(memcluster.BuiltIn(), box)...)
	for _, object := range edit(session.Cluster().Objects()) {
		if err := cluster.Store(object); err != nil {
			t.Fatal(err)
		}
	}
	client := cluster.Client(nil)
	pool := informer.NewPool(t.Context(), client, logr.Discard())
	config := base.Plan.Config
	config.Programs, config.Changed = func(*unstructured.Unstructured) parent.Programs { return parent.Programs{} }, func() {}
	reconciler, err := parent.New(config, parent.Environment{
		Client: client, Pool: pool, Clock: clock.RealClock{}, Log: logr.Discard(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reconciler.Close)
	if !reconciler.WaitForSync(t.Context()) {
		t.Fatal("the caches have not synced")
	}
	s := scene{plan: base.Plan, reconciler: reconciler, serving: serving, pool: pool}
	before := cluster.Objects()
	t.Cleanup(func() { // Previews share the objects of the caches.
		for _, object := range before {
			if diff := cmp.Diff(object, s.cached(t, object)); diff != "" {
				t.Errorf("a preview has changed an object of a cache:\n%s", diff)
			}
		}
	})
	return s
}

// cached returns an object as the host's cache has it. It is what it was given if there is no cache of its kind.
func (s scene) cached(t testing.TB, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	for _, resource := range s.plan.Resources() {
		if resource.Kind == object.GroupVersionKind() {
			cache := s.pool.Share(resource.GroupVersionResource)
			defer cache.Close()
			return cache.Get(object.GetNamespace(), object.GetName())
		}
	}
	return object
}

func (s scene) subject(next texts) definition.PreviewSubject {
	return definition.PreviewSubject{
		Plan: s.plan, Serving: s.plan, Scripts: next, ServingScripts: s.serving, Parents: s.reconciler.Sampler,
	}
}

func (s scene) preview(t testing.TB, next texts, most int) scripts.Preview {
	p := New("libretto", nil, nil)
	p.batch = most
	return p.Preview(t.Context(), s.subject(next))
}

// namedConfigMaps are the lines of a definition by which Boxes name a ConfigMap.
const namedConfigMaps = `
  relatedResources: [{apiVersion: v1, resource: configmaps, nameFrom: {fieldPath: spec.of}}]`

// naming has a Box name one of its ConfigMaps.
func naming(o *unstructured.Unstructured) {
	if o.GetKind() == "Box" {
		_ = unstructured.SetNestedField(o.Object, o.GetName()+"-0", "spec", "of")
	}
}

// ifRelated answers with three ConfigMaps if that many are related, and with none otherwise.
func ifRelated(many int) func(engines.Call) (any, error) {
	return func(call engines.Call) (any, error) {
		suffixes := three
		if found, _, _ := unstructured.NestedMap(call.Request, "related", "ConfigMap.v1"); len(found) != many {
			suffixes = nil
		}
		return making("1", suffixes)["sync"].(hook).answer(call)
	}
}

// TestPreview previews edits of hooks that have made three ConfigMaps of each of four Boxes.
func TestPreview(t *testing.T) {
	one := func() texts { return making("1", three) }
	asking := func(resource string) func(engines.Call) (any, error) {
		return func(engines.Call) (any, error) {
			return map[string]any{"relatedResources": []any{map[string]any{"apiVersion": "v1", "resource": resource, "namespace": "default"}}}, nil
		}
	}
	slow := func(engines.Call) (any, error) {
		return nil, &engines.Error{Kind: engines.Timeout, Message: "timed out"}
	}
	busy := func(engines.Call) (any, error) {
		return nil, &engines.Error{Kind: engines.Busy, Message: "no worker was free"}
	}
	deleting := func(o *unstructured.Unstructured) {
		if o.GetKind() == "Box" {
			_ = unstructured.SetNestedField(o.Object, "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")
		}
	}
	customize := "customize: {" + script + "}"
	for name, c := range map[string]struct {
		reason          string
		method          string
		sync, customize string
		serving, next   texts
		most            int
		edit            func(*unstructured.Unstructured)
		want            scripts.Preview
	}{
		"nothing changes": {
			reason: "The same answers are no harm.",
			next:   one(), want: scripts.Preview{Summary: "previewed on 4 of 4 parents"},
		},
		"no children": {
			reason: "The first accident of all.",
			next:   making("1", nil),
			want:   scripts.Preview{Held: "it would delete 12 of 12 children of 4 of 4 parents, first ConfigMap default/b000-0"},
		},
		"half of the children": {
			reason:  "More than half is too much, not half.",
			serving: making("1", []string{"-0", "-1"}), next: making("1", []string{"-0"}),
			want: scripts.Preview{Summary: "previewed on 4 of 4 parents", Destroys: true},
		},
		"all of one kind": {
			reason:  "Half of the children, and all that do the work.",
			serving: making("1", []string{"-0", "-s0"}), next: making("1", []string{"-s0"}),
			want: scripts.Preview{Held: "it would delete 4 of 4 children of kind ConfigMap of 4 of 4 parents, first ConfigMap default/b000-0"},
		},
		"recreated": {
			reason: "What is in a recreated object is lost too.",
			method: "Recreate", next: making("2", three),
			want: scripts.Preview{Held: "it would recreate 12 of 12 children of 4 of 4 parents, first ConfigMap default/b000-0"},
		},
		"updated": {
			reason: "Updates in place are what edits are for.",
			next:   making("2", three), want: scripts.Preview{Summary: "previewed on 4 of 4 parents"},
		},
		"deleted and recreated": {
			reason: "Both count together.",
			method: "Recreate", next: making("2", []string{"-0"}),
			want: scripts.Preview{Held: "it would delete 8 and recreate 4 of 12 children of 4 of 4 parents, first ConfigMap default/b000-0"},
		},
		"one fails": {
			reason: "A parent that succeeds now must not fail.",
			next:   making("1", three, "b002"),
			want: scripts.Preview{RepeatAfter: scripts.PreviewInterval, Held: "1 of 4 parents that succeed now would fail, first Box default/b002: " +
				"HookFailed: sync hook: sync.js:3:9: TypeError: no"},
		},
		"one fails already": {
			reason: "It does not get worse.", serving: making("1", three),
			next: making("1", three, "b002"), edit: nil, most: -1, // The serving scripts fail too: see below.
			want: scripts.Preview{Summary: "previewed on 4 of 4 parents"},
		},
		"too slow": {
			reason: "Two calls that time out are enough: others are not made.",
			next:   one().with("sync", slow),
			want:   scripts.Preview{Unknown: 2, Held: "2 of 4 parents that succeed now would fail, first Box default/b"}, most: 4,
		},
		"no worker": {
			reason: "A host that is busy says nothing about the scripts.",
			next:   one().with("sync", busy),
			want:   scripts.Preview{Later: true, RepeatAfter: scripts.PreviewInterval},
		},
		"a sample": {
			reason: "What is reported says of how many.",
			next:   making("1", nil), most: 2,
			want: scripts.Preview{Held: "it would delete 6 of 6 children of 2 of 2 parents (a sample of 4), first ConfigMap default/"},
		},
		"related objects in a cache": {
			reason: "ConfigMaps are children, so that the host has them.", customize: customize,
			serving: one().with("customize", asking("configmaps")), next: one().with("customize", asking("configmaps")),
			want: scripts.Preview{Summary: "previewed on 4 of 4 parents"},
		},
		"related objects in no cache": {
			reason: "A cache is filled, as the edit needs it anyhow.", customize: customize,
			serving: one().with("customize", asking("configmaps")), next: making("1", nil).with("customize", asking("services")),
			want: scripts.Preview{Held: "it would delete 12 of 12 children of 4 of 4 parents, first ConfigMap default/b000-0"},
		},
		"objects that parents name": {
			reason: "They are there, without a customize hook: else all would be deleted.", customize: namedConfigMaps, edit: naming,
			serving: one(), next: one().with("sync", ifRelated(1)), want: scripts.Preview{Summary: "previewed on 4 of 4 parents"},
		},
		"objects that parents do not name": {
			reason: "The others are not.", customize: namedConfigMaps, edit: naming,
			serving: one(), next: one().with("sync", ifRelated(3)),
			want: scripts.Preview{Held: "it would delete 12 of 12 children of 4 of 4 parents, first ConfigMap default/b000-0"},
		},
		"a webhook": {
			reason: "No server is called.", sync: `webhook: {url: "http://nowhere.invalid"}`,
			next: texts{}, want: scripts.Preview{Unknown: 4, Summary: "previewed on 0 of 4 parents; 4 could not be previewed, first Box default/b000: " +
				"HookFailed: sync hook: a webhook answers, which previews call only with sideEffects: None"},
		},
		"a webhook without side effects": {
			reason: "It is called as a script is.", sync: `webhook: {url: "http://nowhere.invalid", sideEffects: None}`,
			next: making("1", nil), want: scripts.Preview{Held: "it would delete 12 of 12 children of 4 of 4 parents, first ConfigMap default/b000-0"},
		},
		"a server that asks for time": {
			reason: "It has said nothing yet.", sync: `webhook: {url: "http://nowhere.invalid", sideEffects: None}`,
			next: one().with("sync", func(engines.Call) (any, error) {
				return nil, &engines.Error{Message: "HTTP 503", RetryAfter: time.Minute}
			}),
			want: scripts.Preview{Unknown: 4, Summary: "previewed on 0 of 4 parents; 4 could not be previewed, first Box default/b000: " +
				"HookFailed: sync hook: the server asked to be called later"},
		},
		"parents that are being deleted": {
			reason:  "finalize is called for them, and what the scripts that serve delete as well is not held.",
			serving: one().with("finalize", making("1", nil)["finalize"].(hook).answer), edit: deleting,
			next: one().with("finalize", making("1", nil)["finalize"].(hook).answer),
			want: scripts.Preview{Summary: "previewed on 4 of 4 parents"},
		},
		"another finalize": {
			reason: "finalize is previewed too.", edit: deleting,
			serving: one(), next: one().with("finalize", func(engines.Call) (any, error) {
				return map[string]any{"children": []any{}, "finalized": false}, nil
			}),
			want: scripts.Preview{Held: "it would delete 12 of 12 children of 4 of 4 parents, first ConfigMap default/b000-0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			method, sync, serving, most := c.method, c.sync, c.serving, c.most
			if method == "" {
				method = "InPlace"
			}
			if sync == "" {
				sync = script
			}
			if serving == nil {
				serving = one()
			}
			if most <= 0 {
				most = 100
			}
			settler := serving
			if c.sync != "" { // What a server has made.
				settler = one()
			}
			s := settled(t, method, sync, c.customize, settler, 4, c.edit)
			if s.serving = serving; c.most < 0 {
				s.serving = c.next
			}
			got := s.preview(t, c.next, most)
			if got.Held != "" && c.want.Summary == "" {
				got.Summary = ""
			}
			if c.most > 0 && strings.HasPrefix(got.Held, c.want.Held) { // Which parents come first depends on their UIDs.
				got.Held = c.want.Held
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", c.reason, diff)
			}
		})
	}
}

// TestLateOnce has the first call of all take too long, as on a machine that is busy for a moment: that holds nothing.
func TestLateOnce(t *testing.T) {
	s := settled(t, "InPlace", script, "", making("1", three), 4, nil)
	next, first := making("1", three), true
	answer := next["sync"].(hook).answer
	p := s.preview(t, next.with("sync", func(call engines.Call) (any, error) {
		if first {
			first = false
			return nil, &engines.Error{Kind: engines.Timeout, Message: "timed out"}
		}
		return answer(call)
	}), 100)
	if diff := cmp.Diff(scripts.Preview{Summary: "previewed on 4 of 4 parents"}, p); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestNoSlot has previews of others end late: the edit waits for its turn, and is not let through meanwhile.
func TestNoSlot(t *testing.T) {
	s := settled(t, "InPlace", script, "", making("1", three), 2, nil)
	previewer := New("libretto", nil, nil)
	var others []func()
	for n := range maxPreviews {
		release, err := previewer.slots.Acquire(t.Context(), fmt.Sprint("other", n))
		if err != nil {
			t.Fatal(err)
		}
		others = append(others, release)
	}
	ended := make(chan scripts.Preview, 1)
	go func() { ended <- previewer.Preview(t.Context(), s.subject(making("1", nil))) }()
	if len(ended) > 0 {
		t.Error("it has not waited")
	}
	for _, release := range others {
		release()
	}
	if p := <-ended; !strings.HasPrefix(p.Held, "it would delete 6 of 6 children") {
		t.Errorf("%+v", p)
	}
}

// TestNoParents previews nothing, and says nothing.
func TestNoParents(t *testing.T) {
	s := settled(t, "InPlace", script, "", making("1", three), 0, nil)
	if diff := cmp.Diff(scripts.Preview{}, s.preview(t, making("1", nil), 100)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestNoWorkerAtFirst has others take the worker for as long as a call may take, twice: the preview waits for its turn.
func TestNoWorkerAtFirst(t *testing.T) {
	s := settled(t, "InPlace", script, "", making("1", three), 2, nil)
	next, busy := making("1", nil), 2
	answer := next["sync"].(hook).answer
	p := s.preview(t, next.with("sync", func(call engines.Call) (any, error) {
		if busy--; busy >= 0 {
			return nil, &engines.Error{Kind: engines.Busy, Message: "no worker was free"}
		}
		return answer(call)
	}), 100)
	if !strings.HasPrefix(p.Held, "it would delete 6 of 6 children") || p.Unknown > 0 {
		t.Errorf("%+v", p)
	}
}

// TestLateAndBackingOff has the call about one parent take too long, and then be held back for what it has cost: that is no news.
func TestLateAndBackingOff(t *testing.T) {
	s := settled(t, "InPlace", script, "", making("1", three), 4, nil)
	next, late := making("1", three), 0
	answer := next["sync"].(hook).answer
	p := s.preview(t, next.with("sync", func(call engines.Call) (any, error) {
		switch name, _, _ := unstructured.NestedString(call.Request, "parent", "metadata", "name"); {
		case name != "b001":
			return answer(call)
		case late > 0:
			return nil, &engines.Error{Kind: engines.Timeout, Message: "not made", Err: engines.ErrBackoff}
		}
		late++
		return nil, &engines.Error{Kind: engines.Timeout, Message: "timed out"}
	}), 100)
	const held = "1 of 4 parents that succeed now would fail, first Box default/b001: HookTimedOut: sync hook: timed out"
	if !strings.HasPrefix(p.Held, held) || p.Unknown > 0 {
		t.Errorf("%+v", p)
	}
}

// TestPreviewsOfOthers has authors of scripts take up previews with calls that do not end. Those of others are made meanwhile.
func TestPreviewsOfOthers(t *testing.T) {
	s := settled(t, "InPlace", script, "", making("1", three), 2, nil)
	previewer, ctx := New("libretto", nil, nil), t.Context()
	began, end := make(chan bool, 10), make(chan bool)
	endless := making("1", three).with("sync", func(engines.Call) (any, error) {
		began <- true
		<-end
		return nil, errors.New("ended")
	})
	done := make(chan bool)
	for range 3 {
		subject := s.subject(endless)
		subject.TrustDomain = "hostile"
		go func() { previewer.Preview(ctx, subject); done <- true }()
	}
	<-began
	subject := s.subject(making("1", nil))
	subject.TrustDomain = "other"
	if p := previewer.Preview(ctx, subject); p.Held == "" {
		t.Errorf("%+v", p)
	}
	close(end)
	for range 3 {
		<-done
	}
}

// TestBackground checks that calls of a preview give way to others.
func TestBackground(t *testing.T) {
	s := settled(t, "InPlace", script, "", making("1", three), 2, nil)
	next := making("1", three)
	answer := next["sync"].(hook).answer
	p := s.preview(t, next.with("sync", func(call engines.Call) (any, error) {
		if !call.Background {
			return nil, errors.New("not in the background")
		}
		return answer(call)
	}), 100)
	if p.Held != "" || p.Unknown > 0 {
		t.Errorf("%+v", p)
	}
}

// TestLargeAnswers bounds what the answers take in the host's memory: parents whose turn comes after that are unknown.
func TestLargeAnswers(t *testing.T) {
	s := settled(t, "InPlace", script, "", making("1", three), 4, nil)
	next := making("1", three)
	answer := next["sync"].(hook).answer
	p := s.preview(t, next.with("sync", func(call engines.Call) (any, error) {
		body, err := answer(call)
		body.(map[string]any)["status"] = map[string]any{"text": strings.Repeat("x", maxBytes/2)}
		return body, err
	}), 100)
	if p.Held != "" || p.Unknown != 2 || !strings.Contains(p.Summary, "the answers for other parents take more than 64 MiB") {
		t.Errorf("%+v", p)
	}
}
