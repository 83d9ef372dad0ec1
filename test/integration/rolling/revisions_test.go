package rolling

import (
	"crypto/sha1" // #nosec G505 -- metacontroller's names are made of it.
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/test/env"
)

// patch is what a revision has of the parent as it is now.
func (c *crew) patch() map[string]any {
	c.T.Helper()
	whole := c.parent().Object["spec"].(map[string]any)
	if c.templateOnly {
		return map[string]any{"spec": map[string]any{"template": whole["template"]}}
	}
	return map[string]any{"spec": whole}
}

// latest is the name of the revision for the parent as it is now, made as section 0 of the specification says, and
// with the definition's name where libretto made it.
func (c *crew) latest() string {
	c.T.Helper()
	return c.revisionName(c.patch())
}

func (c *crew) revisionName(patch map[string]any) string {
	c.T.Helper()
	text, err := json.Marshal(patch)
	if err != nil {
		c.T.Fatal(err)
	}
	if !c.left {
		text = append(text, c.label()...)
	}
	hash := sha1.Sum(append([]byte(c.parent().GetUID()), text...)) // #nosec G401 -- the same.
	return fmt.Sprintf("%s.%s-%x", c.parents.resource.Resource, c.Group, hash)
}

// label is what tells the definition's revisions from others.
func (c *crew) label() string {
	named := v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: c.definition.name}}
	return named.RevisionLabelValue()
}

// revisionLabels are those that every revision has.
func (c *crew) revisionLabels() map[string]string {
	return map[string]string{
		"metacontroller.k8s.io/apiGroup": c.Group, "metacontroller.k8s.io/resource": c.parents.resource.Resource, "crew": c.name,
	}
}

// revisions are the parent's, by name. They are in its namespace, or else in libretto's.
func (c *crew) revisions() map[string]*unstructured.Unstructured {
	c.T.Helper()
	return c.List(env.Revisions, metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: c.revisionLabels()}))
}

// claims are the names of the children that a revision has, as it has them.
func claims(revision *unstructured.Unstructured) []string {
	var names []string
	kinds, _, _ := unstructured.NestedSlice(revision.Object, "children")
	for _, kind := range kinds {
		entries, _, _ := unstructured.NestedStringSlice(kind.(map[string]any), "names")
		names = append(names, entries...)
	}
	return names
}

// claimName is a child's name as a revision of the crew has it.
func (c *crew) claimName(n int) string {
	if c.clusterParent && !c.clusterChild {
		return c.Namespace + "/" + c.part(n)
	}
	return c.part(n)
}

// claimed says what keeps the latest revision from being the only one with children, and these just the wanted ones.
func (c *crew) claimed() error {
	c.T.Helper()
	var want []string
	for n := range c.spec.count {
		want = append(want, c.claimName(n))
	}
	latest := c.latest()
	revisions := c.revisions()
	if revisions[latest] == nil {
		return fmt.Errorf("no revision %s among %d", latest, len(revisions))
	}
	for name, revision := range revisions {
		switch got := claims(revision); {
		case name == latest && !slices.Equal(got, want):
			return fmt.Errorf("revision %s has %v, want %v", name, got, want)
		case name != latest && len(got) > 0:
			return fmt.Errorf("old revision %s still has %v", name, got)
		}
	}
	return nil
}

// mustBeCompatible checks what metacontroller has to find of the latest revision.
func (c *crew) mustBeCompatible() {
	c.T.Helper()
	revision := c.revisions()[c.latest()]
	if revision == nil {
		c.T.Fatalf("no revision %s in namespace %s with labels %v", c.latest(), c.Namespace, c.revisionLabels())
	}
	owner := metav1.GetControllerOf(revision)
	if owner == nil || owner.UID != c.parent().GetUID() || owner.Kind != c.parentKind() {
		c.T.Errorf("revision %s is owned by %v, want %s %s", revision.GetName(), owner, c.parentKind(), c.name)
	}
	kinds, _, _ := unstructured.NestedSlice(revision.Object, "children")
	kind := kinds[0].(map[string]any)
	if len(kinds) != 1 || kind["apiGroup"] != c.Group || kind["kind"] != c.childKind() {
		c.T.Errorf("revision %s has children %v, want one entry for %s of %s", revision.GetName(), kinds, c.childKind(), c.Group)
	}
	labels := c.revisionLabels()
	labels["metacontroller.k8s.io/composite-controller"] = c.label()
	if !maps.Equal(revision.GetLabels(), labels) {
		c.T.Errorf("revision %s has labels %v, want just %v", revision.GetName(), revision.GetLabels(), labels)
	}
	if patch, _, _ := unstructured.NestedMap(revision.Object, "parentPatch"); c.revisionName(patch) != revision.GetName() {
		c.T.Errorf("revision %s has another name than its patch makes: %s", revision.GetName(), strings.TrimSpace(fmt.Sprint(patch)))
	}
}
