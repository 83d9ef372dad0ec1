package mapping

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/variant"
)

// group is an input and the outputs that were made of it.
type group struct {
	key   mapKey
	label string
	// input is nil if it is gone or no longer selected. The proposal calls its outputs detached.
	input   *unstructured.Unstructured
	outputs []*unstructured.Unstructured
}

// groups returns the groups of all inputs in their order, then those of inputs that are gone,
// in the order of their first outputs.
func groups(observed variant.Observed) []*group {
	var all []*group
	byLabel := map[string]*group{}
	add := func(g *group) *group {
		all = append(all, g)
		byLabel[g.label] = g
		return g
	}
	for _, input := range observed.Inputs {
		key := keyOf(input)
		add(&group{key: key, label: key.label(), input: input})
	}
	for _, output := range observed.Children {
		if labelOf(output) == "" {
			continue // See unlabelled.
		}
		g := byLabel[labelOf(output)]
		if g == nil {
			g = add(&group{key: keyFrom(output), label: labelOf(output)})
		}
		g.outputs = append(g.outputs, output)
		if string(g.key) == g.label {
			g.key = keyFrom(output) // The first has lost its annotation; this one may still have it.
		}
	}
	return all
}

// unlabelled returns the outputs whose input is unknown.
func unlabelled(observed variant.Observed) []*unstructured.Unstructured {
	var outputs []*unstructured.Unstructured
	for _, output := range observed.Children {
		if labelOf(output) == "" {
			outputs = append(outputs, output)
		}
	}
	return outputs
}
