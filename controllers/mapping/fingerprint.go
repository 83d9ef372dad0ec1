package mapping

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/variant"
)

// stamps are those of the fields that all requests of a pass have in common.
type fingerprints map[string]string

// stampsOf makes the stamps of a pass. The parent's status is left out: the map
// writes it itself, and what an input is mapped to must not depend on it.
func (v *Variant) commonFingerprints(observed variant.Observed) fingerprints {
	return fingerprints{
		"controller": fingerprint(v.definition.GetUID(), strconv.FormatInt(v.definition.GetGeneration(), 10)),
		"parent":     parentFingerprint(observed.Parent),
		"related":    objectsFingerprint(observed.Related, observed.RelatedKinds),
	}
}

// with adds those of the request about one group. Which one it is, mapKey, is the
// subject of the call.
func (s fingerprints) with(g *group) map[string]string {
	all := maps.Clone(s)
	all["outputs"] = objectsFingerprint(g.outputs)
	if g.input != nil {
		all["input"] = objectsFingerprint([]*unstructured.Unstructured{g.input})
	}
	return all
}

func parentFingerprint(p *unstructured.Unstructured) string {
	version := strconv.FormatInt(p.GetGeneration(), 10)
	if p.GetGeneration() == 0 {
		version = p.GetResourceVersion() // A kind that has no generation, such as ConfigMap.
	}
	if version == "" {
		return ""
	}
	return fingerprint(p.GetUID(), version, p.GetLabels(), p.GetAnnotations())
}

// stampOf stands for objects and whatever else is shown with them. It is empty
// where something has no version, as then nothing can be known to be the same.
func objectsFingerprint(objects []*unstructured.Unstructured, more ...any) string {
	versions, known := versionsOf(objects)
	if !known {
		return ""
	}
	return fingerprint(append(more, versions)...)
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
func fingerprint(values ...any) string {
	h := sha256.New()
	for _, value := range values {
		fmt.Fprintf(h, "%q\n", value)
	}
	return hex.EncodeToString(h.Sum(nil))
}
