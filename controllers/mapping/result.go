package mapping

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// verdict is what becomes of one group. What is neither wanted nor kept goes.
type result struct {
	*group
	// wanted are the outputs that the input is to have, in the hook's order.
	wanted []*unstructured.Unstructured
	// kept are outputs of the group that stay as they are.
	kept   map[apply.Key]bool
	resync float64
	// problem is why nobody knows: then all of the group is kept.
	problem error
	// unfit is the call whose answer does not fit.
	invalidAnswers []variant.Call
}

// verdicts reads the answers, which are in the order of the groups that somebody
// was asked about.
func (v *Variant) results(observed variant.Observed, answers []variant.Answer) []*result {
	var all []*result
	for _, g := range groups(observed) {
		read := result{group: g}
		if hook := v.hookFor(g); hook != "" {
			read = v.read(hook, observed.Parent, g, answers[0])
			answers = answers[1:]
		}
		all = append(all, &read)
	}
	return all
}

func (v *Variant) read(hook string, p *unstructured.Unstructured, g *group, answer variant.Answer) result {
	rules, finish := v.mapped, v.finishFor(g)
	if hook == tombstoneHook {
		rules, finish = v.tombstone, onlySent(g)
	}
	response := variant.ReadResponse(answer, *rules)
	objects := v.outputs.In(g.key.namespace()).Objects(response, p, finish)
	read := result{group: g, resync: response.Seconds("resyncAfterSeconds")}
	switch err := response.Err(); {
	case err != nil:
		unknown := result{group: g, kept: keysOf(g.outputs), problem: g.errorf(err)}
		if answer.Err == nil {
			unknown.invalidAnswers = []variant.Call{answer.Call}
		}
		return unknown
	case hook == tombstoneHook:
		read.kept = keysOf(objects)
	default:
		read.wanted = objects
	}
	return read
}

// wants marks the outputs of an input.
func (v *Variant) finishFor(g *group) variant.FinishFunc {
	return func(output *unstructured.Unstructured) (*unstructured.Unstructured, string) {
		return v.mark(output, g.key, g.label), ""
	}
}

// keeps refuses what was not sent: detached outputs can be kept or dropped, but
// neither made nor edited (section 9 of the specification).
func onlySent(g *group) variant.FinishFunc {
	sent := keysOf(g.outputs)
	return func(output *unstructured.Unstructured) (*unstructured.Unstructured, string) {
		if key := apply.KeyOf(output); !sent[key] {
			return nil, fmt.Sprintf("%s was not sent: a tombstone hook can keep what it was sent, and add nothing to it", key)
		}
		return output, ""
	}
}

// problem says of which input something is wrong.
func (g *group) errorf(err error) error {
	if g.input == nil {
		return fmt.Errorf("input %s, which is gone: %w", g.key, err)
	}
	return fmt.Errorf("input %s: %w", g.key, err)
}
