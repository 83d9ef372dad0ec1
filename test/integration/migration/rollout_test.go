package migration

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// TestRolloutGoesOn starts libretto on a rollout that is over, and on one that metacontroller could not get on with.
func TestRolloutGoesOn(t *testing.T) {
	s := newEnv(t)
	f := family{kind: env.Composite, version: "v1", method: "RollingInPlace", generated: true}
	s.define("rolling", f)
	over, latest := s.createLegacyRollout("over", f, "two", "two", "two")
	s.createLegacyRollout("middle", f, "two", "one", "one")
	mark := s.Mark()
	s.Start(manifest...)
	for n := range 3 {
		s.WaitFor(env.ConfigMaps, fmt.Sprint("middle-", n), env.HasText("two"))
	}
	_, things := s.of(f)
	middle := s.WaitFor(things, "middle", func(o *unstructured.Unstructured) error {
		return env.CheckCondition(s.ConditionOf(o, "Updated"), "True", "OnLatestRevision")
	})
	s.WaitForReconciles(s.definitionName("rolling"), 0, 2)
	s.WaitForQuiet()

	var updated []string
	for _, r := range s.librettosWrites(mark).Of("", "configmaps") {
		updated = append(updated, r.Verb+" "+r.Name)
	}
	if got, want := fmt.Sprint(updated), "[update middle-1 update middle-2]"; got != want {
		t.Errorf("children were written: %s, want %s", got, want)
	}
	s.expectNotWritten(mark, over, latest)
	s.expectClaimsMoved(middle)
}

// createLegacyRollout makes a parent that wants the text two, with a child of each text, and gives it with its latest revision.
func (s *testEnv) createLegacyRollout(name string, f family, texts ...string) (parent *unstructured.Unstructured, latest string) {
	s.T.Helper()
	parent = s.createLegacyParent(name, f, "rolling", map[string]any{"text": "two", "count": int64(len(texts))})
	of := map[string][]int{}
	for n, text := range texts {
		wanted := s.hooks.desired(parent, "shared")[n].(map[string]any)
		wanted["data"] = map[string]any{"text": text}
		s.createLegacyChild(parent, f, "rolling", wanted)
		of[text] = append(of[text], n)
	}
	for text, numbers := range of {
		if revision := s.createLegacyRevision(parent, text, numbers...); text == "two" {
			latest = revision
		}
	}
	condition := map[string]any{"type": "Updated", "status": "True", "reason": "OnLatestRevision",
		"message": "latest ControllerRevision: " + latest}
	if len(of) > 1 {
		// Where 4.17 stops for ever.
		condition = map[string]any{"type": "Updated", "status": "False", "reason": "RolloutWaiting",
			"message": "missing child ConfigMap " + name + "-0"}
	}
	_, things := s.of(f)
	s.Patch(things, name, mustMarshal(map[string]any{"status": map[string]any{"conditions": []any{condition}}}), "status")
	return parent, latest
}

// expectNotWritten checks that nothing of the rollout that is over was.
func (s *testEnv) expectNotWritten(since cluster.Mark, parent *unstructured.Unstructured, revision string) {
	s.T.Helper()
	for _, r := range s.librettosWrites(since) {
		if r.Name == parent.GetName() || r.Name == revision {
			s.T.Errorf("where nothing differs libretto writes: %s", r)
		}
	}
}

// expectClaimsMoved checks that the revisions that were there have been gone on with, and the latest has all children.
func (s *testEnv) expectClaimsMoved(parent *unstructured.Unstructured) {
	s.T.Helper()
	revisions := s.List(env.Revisions, "controller-uid="+string(parent.GetUID()))
	claims := map[string]int{}
	for _, revision := range revisions {
		children, _, _ := unstructured.NestedSlice(revision.Object, "children")
		for _, kind := range children {
			names, _, _ := unstructured.NestedSlice(kind.(map[string]any), "names")
			claims[field(revision, "parentPatch", "spec", "text")] += len(names)
		}
	}
	if len(revisions) > 2 || claims["two"] != 3 || claims["one"] != 0 {
		s.T.Errorf("%d revisions have these numbers of children: %v, want all three of two", len(revisions), claims)
	}
}
