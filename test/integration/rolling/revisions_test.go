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

// revisionPatch returns the child of the present parent that a revision stores.
func (c *parent) revisionPatch() map[string]any {
	c.T.Helper()
	whole := c.live().Object["spec"].(map[string]any)
	if c.templateOnly {
		return map[string]any{"spec": map[string]any{"template": whole["template"]}}
	}
	return map[string]any{"spec": whole}
}

// latest returns the name of the revision for the parent as it is now, made as section 0 of the specification says, and
// with the definition's name where libretto made it.
func (c *parent) latest() string {
	c.T.Helper()
	return c.revisionName(c.revisionPatch())
}

func (c *parent) revisionName(patch map[string]any) string {
	c.T.Helper()
	text, err := json.Marshal(patch)
	c.NoError(err)
	if !c.legacy {
		text = append(text, c.label()...)
	}
	if c.rollingScripts && !c.legacy {
		text = append(text, "@"+c.scriptRevision()...)
	}
	hash := sha1.Sum(append([]byte(c.live().GetUID()), text...)) // #nosec G401 -- the same.
	return fmt.Sprintf("%s.%s-%x", c.parentScope.resource.Resource, c.Group, hash)
}

// label returns the label value of the definition's revisions.
func (c *parent) label() string {
	named := v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: c.definition.name}}
	return named.RevisionLabelValue()
}

// revisionLabels returns the labels that every revision has.
func (c *parent) revisionLabels() map[string]string {
	return map[string]string{
		"metacontroller.k8s.io/apiGroup": c.Group, "metacontroller.k8s.io/resource": c.parentScope.resource.Resource, "set": c.name,
	}
}

// revisions returns the parent's revisions by name. They are in its namespace, or else in libretto's.
func (c *parent) revisions() map[string]*unstructured.Unstructured {
	c.T.Helper()
	return c.List(env.Revisions, metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: c.revisionLabels()}))
}

// claims returns the names of the children that a revision has, as it has them.
func claims(revision *unstructured.Unstructured) []string {
	var names []string
	kinds, _, _ := unstructured.NestedSlice(revision.Object, "children")
	for _, kind := range kinds {
		entries, _, _ := unstructured.NestedStringSlice(kind.(map[string]any), "names")
		names = append(names, entries...)
	}
	return names
}

// claim returns a child's name as a revision has it.
func (c *parent) claim(n int) string {
	if c.clusterParent && !c.clusterChild {
		return c.Namespace + "/" + c.childName(n)
	}
	return c.childName(n)
}

// checkClaims checks that only the latest revision has children, and that these are the wanted ones.
func (c *parent) checkClaims() error {
	c.T.Helper()
	var want []string
	for n := range c.spec.count {
		want = append(want, c.claim(n))
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

// expectCompatible checks what metacontroller must find of the latest revision.
func (c *parent) expectCompatible() {
	c.T.Helper()
	revision := c.revisions()[c.latest()]
	if revision == nil {
		c.T.Fatalf("no revision %s in namespace %s with labels %v", c.latest(), c.Namespace, c.revisionLabels())
	}
	owner := metav1.GetControllerOf(revision)
	if owner == nil || owner.UID != c.live().GetUID() || owner.Kind != c.parentKind() {
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
