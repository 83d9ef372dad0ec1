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

// fingerprints stand for the content of the fields of a request, by paths as in engines.ReadSet.
type fingerprints map[string]string

// commonFingerprints returns the fingerprints of the fields that all requests of a reconcile
// have. They ignore the parent's status: the host writes it, and outputs must not depend on it.
func (v *Variant) commonFingerprints(observed variant.Observed) fingerprints {
	return fingerprints{
		"controller": fingerprint(v.definition.GetUID(), strconv.FormatInt(v.definition.GetGeneration(), 10)),
		"parent":     parentFingerprint(observed.Parent),
		"related":    objectsFingerprint(observed.Related, observed.RelatedKinds),

		"parent.metadata.labels":      fingerprint(observed.Parent.GetLabels()),
		"parent.metadata.annotations": fingerprint(observed.Parent.GetAnnotations()),
	}
}

// with returns the fingerprints of the request about one group. mapKey has none, as it is the
// subject of the call.
func (s fingerprints) with(g *group) map[string]string {
	all := maps.Clone(s)
	all["outputs"] = objectsFingerprint(g.outputs)
	if g.input != nil {
		all["input"] = objectsFingerprint([]*unstructured.Unstructured{g.input})
	}
	return all
}

// parentFingerprint returns the fingerprint of a parent but for its labels and annotations. It is empty if
// changes would go unnoticed.
func parentFingerprint(p *unstructured.Unstructured) string {
	version := strconv.FormatInt(p.GetGeneration(), 10)
	if p.GetGeneration() == 0 {
		version = p.GetResourceVersion() // A kind without generations, such as ConfigMap.
	}
	if version == "" {
		return ""
	}
	return fingerprint(p.GetUID(), version)
}

// objectsFingerprint returns the fingerprint of objects and of further values. It is empty if
// an object has no resourceVersion, as its changes would go unnoticed.
func objectsFingerprint(objects []*unstructured.Unstructured, more ...any) string {
	versions, known := versionsOf(objects)
	if !known {
		return ""
	}
	return fingerprint(append(more, versions)...)
}

// versionsOf returns UID and resourceVersion of each object, sorted. known is false if one
// has no resourceVersion.
func versionsOf(objects []*unstructured.Unstructured) (versions []string, known bool) {
	versions = make([]string, len(objects))
	for i, object := range objects {
		if object.GetResourceVersion() == "" {
			return nil, false
		}
		versions[i] = string(object.GetUID()) + "@" + object.GetResourceVersion()
	}
	slices.Sort(versions)
	return versions, true
}

// fingerprint hashes values of any types. Quoting separates them, and maps are printed in the
// order of their keys.
func fingerprint(values ...any) string {
	h := sha256.New()
	for _, value := range values {
		fmt.Fprintf(h, "%q\n", value)
	}
	return hex.EncodeToString(h.Sum(nil))
}
