package mapping

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/parent"
)

// stamp stands for what all requests of a pass have in common. It is empty where
// something in them has no version, as then nothing can be known to be the same.
type stamp string

// stampOf makes the stamp of a pass, of the definition, the parent and the
// related objects. The parent's status is no part of it: the map writes it
// itself, and what an input is mapped to must not depend on it.
func (v *Variant) stampOf(observed parent.Observed) stamp {
	p := observed.Parent
	version := fmt.Sprint(p.GetGeneration())
	if p.GetGeneration() == 0 {
		version = p.GetResourceVersion() // A kind that has no generation, such as ConfigMap.
	}
	related, known := versionsOf(observed.Related)
	if !known || version == "" {
		return ""
	}
	return stamp(digest(
		v.definition.GetUID(), fmt.Sprint(v.definition.GetGeneration()),
		p.GetUID(), version, p.GetLabels(), p.GetAnnotations(),
		related, observed.RelatedKinds,
	))
}

// with adds what is peculiar to the request about one group.
func (s stamp) with(g *group) string {
	objects := g.outputs
	if g.input != nil {
		objects = append(slices.Clip(objects), g.input)
	}
	versions, known := versionsOf(objects)
	if !known || s == "" {
		return ""
	}
	return digest(string(s), versions)
}

// versionsOf identifies objects and what they are like, in whatever order they
// come. The second result says whether each has a version.
func versionsOf(objects []*unstructured.Unstructured) ([]string, bool) {
	versions := make([]string, len(objects))
	for i, object := range objects {
		if object.GetResourceVersion() == "" {
			return nil, false
		}
		versions[i] = string(object.GetUID()) + "@" + object.GetResourceVersion()
	}
	slices.Sort(versions)
	return versions, true
}

// digest gives one text for values of all kinds. Quoting keeps them apart, and
// maps are printed in the order of their keys.
func digest(values ...any) string {
	h := sha256.New()
	for _, value := range values {
		fmt.Fprintf(h, "%q\n", value)
	}
	return hex.EncodeToString(h.Sum(nil))
}
