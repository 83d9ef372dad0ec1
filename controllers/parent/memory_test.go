package parent

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/runtime/controller"
)

func TestStamp(t *testing.T) {
	m := newMemory()
	list := func(objects ...*unstructured.Unstructured) []*unstructured.Unstructured { return objects }
	base := Observed{Parent: object("p"), Children: list(object("a"), object("b"))}
	cases := map[string]struct {
		reason   string
		observed Observed
		revision string
		same     bool
	}{
		"Equal":         {"The same objects give the same stamp.", Observed{Parent: object("p"), Children: list(object("a"), object("b"))}, "r", true},
		"Parent":        {"A newer parent counts.", Observed{Parent: object("p", version("2")), Children: base.Children}, "r", false},
		"Child":         {"A newer child counts.", Observed{Parent: base.Parent, Children: list(object("a"), object("b", version("2")))}, "r", false},
		"Fewer":         {"A child that is gone counts.", Observed{Parent: base.Parent, Children: list(object("a"))}, "r", false},
		"AnotherObject": {"Another object of the same name and version counts.", Observed{Parent: base.Parent, Children: list(object("a"), object("b", withUID("new")))}, "r", false},
		"OtherRole":     {"It counts whether an object is a child or is related.", Observed{Parent: base.Parent, Children: list(object("a")), Related: list(object("b"))}, "r", false},
		"Release":       {"A child to release counts, though no hook is shown it.", Observed{Parent: base.Parent, Children: base.Children, Release: list(object("c"))}, "r", false},
		"Finalizing":    {"It counts which hook is asked.", Observed{Parent: base.Parent, Children: base.Children, Finalizing: true}, "r", false},
		"Script":        {"A new revision of the scripts counts.", base, "r2", false},
	}
	for name, tc := range cases {
		if same := m.stamp(tc.observed, tc.revision) == m.stamp(base, "r"); same != tc.same {
			t.Errorf("%s: %s", name, tc.reason)
		}
	}
}

func TestRecall(t *testing.T) {
	key, now := controller.Key{Name: "p"}, time.Unix(1000, 0)
	call := Call{Hook: "map", Subject: "input", Stamp: "1"}
	cases := map[string]struct {
		reason   string
		call     Call
		revision string
		at       time.Time
		known    bool
	}{
		"Same":     {"The same question has the same answer.", call, "r", now, true},
		"Stamp":    {"Another content is another question.", Call{Hook: "map", Subject: "input", Stamp: "2"}, "r", now, false},
		"Subject":  {"So is another subject.", Call{Hook: "map", Subject: "other", Stamp: "1"}, "r", now, false},
		"Unmarked": {"A call without a stamp is always made.", Call{Hook: "map", Subject: "input"}, "r", now, false},
		"Revision": {"Another script is asked anew.", call, "r2", now, false},
		"Expired":  {"An answer that asked to be renewed is, in time.", call, "r", now.Add(time.Minute), false},
	}
	for name, tc := range cases {
		m := newMemory()
		m.note(key, call, "r", "answer", now.Add(time.Minute))
		if _, _, known := m.recall(key, tc.call, tc.revision, tc.at); known != tc.known {
			t.Errorf("%s: known %v: %s", name, known, tc.reason)
		}
	}
	m := newMemory()
	m.note(key, call, "r", "answer", time.Time{})
	m.note(key, Call{Hook: "map", Subject: "gone", Stamp: "1"}, "r", "answer", time.Time{})
	m.keep(key, []Call{call})
	if len(m.said[key]) != 1 {
		t.Errorf("%d answers are kept, want only that to the call which is still made", len(m.said[key]))
	}
	m.forget(key)
	if len(m.said) != 0 {
		t.Error("answers of a parent that is gone are kept")
	}
}
