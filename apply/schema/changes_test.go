package schema

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"
)

// look has Run make the looks that are due.
func look(t *testing.T) func(*Source, *server, *testclock.FakeClock) {
	return func(s *Source, _ *server, clock *testclock.FakeClock) {
		if at, pending := s.nextLook(); pending && !clock.Now().Before(at) {
			s.look(t.Context())
		}
	}
}

func TestChanges(t *testing.T) {
	type deed = func(*Source, *server, *testclock.FakeClock)
	ask := func(groups ...string) deed {
		return func(s *Source, _ *server, _ *testclock.FakeClock) {
			for _, group := range groups {
				s.For(t.Context(), thing(group))
			}
		}
	}
	changed := func(hashes map[string]string) deed {
		return func(s *Source, api *server, _ *testclock.FakeClock) {
			api.hash = hashes
			s.Changed()
		}
	}
	one, two := map[string]string{"apis/a/v1": "1", "apis/b/v1": "7"}, map[string]string{"apis/a/v1": "2", "apis/b/v1": "7"}
	cases := map[string]struct {
		reason string
		deeds  []deed
		want   [2]uint64 // of a and b
		listed int
		asked  int // by the last deed
	}{
		"Unasked":    {"what nobody asked for is not looked at", []deed{changed(two), look(t)}, [2]uint64{}, 0, 0},
		"First":      {"the first schema is no change", []deed{ask("a", "b")}, [2]uint64{}, 0, 3},
		"Unchanged":  {"a CustomResourceDefinition may change without its schema", []deed{ask("a", "b"), changed(one), look(t)}, [2]uint64{}, 0, 1},
		"Changed":    {"a schema that has changed is noticed without anybody's asking", []deed{ask("a", "b"), changed(two), look(t)}, [2]uint64{1, 0}, 1, 2},
		"Late":       {"the API server tells late", []deed{ask("a"), changed(one), look(t), changed(two), pass(time.Second), look(t)}, [2]uint64{1, 0}, 1, 2},
		"ByAPass":    {"a pass may notice first, and is not alone concerned", []deed{ask("a", "b"), changed(two), ask("a")}, [2]uint64{1, 0}, 1, 2},
		"NotAgain":   {"a change that a pass has noticed is no other", []deed{ask("a"), changed(two), ask("a"), look(t)}, [2]uint64{1, 0}, 1, 0},
		"OtherGroup": {"a pass that asks for one does not hide the other's change", []deed{ask("a", "b"), changed(two), ask("b"), look(t)}, [2]uint64{1, 0}, 1, 1},
		"Comes": {"one that the API server was slow to tell is no change", []deed{func(s *Source, api *server, clock *testclock.FakeClock) {
			api.hash = map[string]string{}
			ask("a")(s, api, clock)
		}, changed(one), look(t)}, [2]uint64{}, 0, 2},
		"Goes": {"so is one that goes", []deed{ask("a"), changed(map[string]string{}), look(t)}, [2]uint64{1, 0}, 1, 1},
		"Fails": {"what can't be fetched is looked for again", []deed{ask("a"), changed(two), fail("/openapi/v3/apis/a/v1", errBoom),
			pass(30 * time.Second), look(t), fail("/openapi/v3/apis/a/v1", nil), pass(time.Hour), look(t)}, [2]uint64{1, 0}, 1, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s, api, clock := newSource(one)
			listed := 0
			s.Listen(func() { listed++ })
			stop := s.Listen(func() { t.Error("a function that listens no more is called") })
			stop()
			for _, do := range tc.deeds {
				api.look()
				do(s, api, clock)
			}
			if got := len(api.look()); got != tc.asked {
				t.Errorf("%s: %d requests, want %d", tc.reason, got, tc.asked)
			}
			got := [2]uint64{s.Changes(thing("a")), s.Changes(thing("b"))}
			if diff := cmp.Diff(tc.want, got); diff != "" || listed != tc.listed {
				t.Errorf("%s: called %d times, want %d; changes -want +got:\n%s", tc.reason, listed, tc.listed, diff)
			}
			if sum := s.Changes(thing("a"), thing("b")); sum != got[0]+got[1] {
				t.Errorf("%d changes of both, want %d", sum, got[0]+got[1])
			}
			if allocs := testing.AllocsPerRun(10, func() { s.Changes(thing("a")) }); allocs != 0 {
				t.Errorf("to ask for changes allocates %v times", allocs)
			}
		})
	}
}

// TestRun lets a clock run out.
func TestRun(t *testing.T) {
	s, api, clock := newSource(map[string]string{"apis/a/v1": "1"})
	s.For(t.Context(), thing("a"))
	listed := make(chan struct{}, 1)
	s.Listen(func() { listed <- struct{}{} })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { s.Run(ctx); close(ended) }()
	api.mu.Lock()
	api.hash["apis/a/v1"] = "2"
	api.mu.Unlock()
	s.Changed()
	for len(listed) == 0 {
		clock.Step(time.Second)
	}
	cancel()
	<-ended
	if s.Changes(thing("a")) != 1 {
		t.Error("the change is not counted")
	}
	var none *Source
	none.Listen(func() {})
	if none.Changes(thing("a")) != 0 {
		t.Error("what is not there changes")
	}
}

// TestKindsAreKept sees to it that in a document that has changed only what has changed is another.
func TestKindsAreKept(t *testing.T) {
	document := func(widget string) *document {
		t.Helper()
		kind := func(name, properties string) string {
			return fmt.Sprintf(`"a.%[1]s": {"type": "object", "properties": {"metadata": {}, %[2]s}, "x-kubernetes-group-version-kind": [{"group": "a", "version": "v1", "kind": %[1]q}]}`, name, properties)
		}
		d, err := parse([]byte(`{"components": {"schemas": {` + kind("Gadget", `"spec": {"$ref": "#/components/schemas/a.Spec"}`) + "," + kind("Widget", widget) + "," +
			kind("Plain", `"x": {"type": "string"}`) + `, "a.Spec": {"type": "object", "properties": {` + widget + `, "self": {"$ref": "#/components/schemas/a.Spec"}}}}}}`))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	before := document(`"size": {"type": "integer"}`)
	for widget, want := range map[string]map[string]bool{
		`"size": {"type": "integer"}`:                                      {"Gadget": true, "Widget": true, "Plain": true},
		`"size": {"type": "string"}`:                                       {"Gadget": false, "Widget": false, "Plain": true},
		`"size": {"type": "integer", "default": {"a": "no scalar of it"}}`: {"Gadget": true, "Widget": false, "Plain": true},
	} {
		after := document(widget)
		after.keep(before)
		kept := map[string]bool{}
		for name := range want {
			kind := schema.GroupVersionKind{Group: "a", Version: "v1", Kind: name}
			kept[name] = after.kinds[kind] == before.kinds[kind]
		}
		if diff := cmp.Diff(want, kept); diff != "" {
			t.Errorf("%s: kept (-want +got):\n%s", widget, diff)
		}
	}
}
