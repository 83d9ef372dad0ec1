package mapping

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// result is what the hook wants for one group. Outputs that are neither wanted nor kept are
// deleted.
type result struct {
	*group
	// wanted are the desired outputs of the input, in the order of the response.
	wanted []*unstructured.Unstructured
	// kept are outputs of the group that stay as they are.
	kept   map[apply.Key]bool
	resync float64
	// waiting is why the hook can't say what outputs there should be. Then all outputs of the group are kept.
	waiting    *variant.Wait
	events     []variant.Event
	moreEvents int
	// problem is why the result is unknown. Then all outputs of the group are kept.
	problem error
	// invalidAnswers holds the call if its response is invalid.
	invalidAnswers []variant.Call
}

// results reads the answers, which are in the order of the groups that a hook was called for.
func (v *Variant) results(observed variant.Observed, answers []variant.Answer) []*result {
	var all []*result
	for _, g := range groups(observed) {
		r := &result{group: g}
		if hook := v.hookFor(g); hook != nil {
			r = v.readResponse(hook, observed.Parent, g, answers[0])
			answers = answers[1:]
		}
		all = append(all, r)
	}
	return all
}

func (v *Variant) readResponse(hook *variant.Hook, p *unstructured.Unstructured, g *group, answer variant.Answer) *result {
	finish := v.finishFor(g)
	if g.input == nil {
		finish = onlySent(g)
	}
	response := variant.ReadResponse(answer, hook.Response)
	objects := v.outputs.In(g.key.namespace()).Objects(response, p, finish)
	r := &result{group: g, waiting: response.Waiting()}
	if r.resync = response.Seconds("resyncAfterSeconds"); r.resync > 0 {
		r.resync = max(r.resync, variant.MinLifetime.Seconds())
	}
	r.events, r.moreEvents = response.Events()
	switch err := response.Err(); {
	case err != nil:
		r = &result{group: g, kept: variant.KeysOf(g.outputs), problem: g.wrap(err)}
		if answer.Err == nil {
			r.invalidAnswers = []variant.Call{answer.Call}
		}
	case r.waiting != nil:
		r.waiting.Input, r.kept = string(g.key), variant.KeysOf(g.outputs)
	case g.input == nil:
		r.kept = variant.KeysOf(objects)
	default:
		r.wanted = objects
	}
	return r
}

// finishFor returns the FinishFunc that marks the outputs of an input.
func (v *Variant) finishFor(g *group) variant.FinishFunc {
	return func(output *unstructured.Unstructured) (*unstructured.Unstructured, string) {
		return v.withMarks(output, g.key, g.label), ""
	}
}

// onlySent returns a FinishFunc that rejects outputs that were not sent: a tombstone hook can
// keep or drop outputs, but neither create nor change them (section 9 of the specification).
func onlySent(g *group) variant.FinishFunc {
	sent := variant.KeysOf(g.outputs)
	return func(output *unstructured.Unstructured) (*unstructured.Unstructured, string) {
		if key := apply.KeyOf(output); !sent[key] {
			return nil, fmt.Sprintf("%s was not sent: a tombstone hook can keep what it was sent, and add nothing to it", key)
		}
		return output, ""
	}
}

// wrap returns the error with the input that it is about.
func (g *group) wrap(err error) error {
	if g.input == nil {
		return fmt.Errorf("input %s, which is gone: %w", g.key, err)
	}
	return fmt.Errorf("input %s: %w", g.key, err)
}
