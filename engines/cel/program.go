package cel

import (
	"context"

	"github.com/google/cel-go/common/types/ref"

	"github.com/libretto-k8s/libretto/engines"
)

// program is a compiled script. It is shared by all calls.
type program struct {
	engines.ProgramBase
	hook      string
	script    *engines.Script
	fields    []string
	variables []*variable
	response  node
	points    []engines.CoveragePoint
	outline   *engines.Outline
}

// Outline returns what the script does, if it asks for it.
func (p *program) Outline() *engines.Outline { return p.outline }

// CoveragePoints returns the expressions, the lines of their parts, and the outcomes of their operators.
func (p *program) CoveragePoints() []engines.CoveragePoint { return p.points }

// Run answers one call. Parts of the request that the script returns are not
// copied. No answer depends on the time, because CEL has no clock.
func (p *program) Run(ctx context.Context, question engines.Call) (engines.Response, error) {
	if ctx.Err() != nil {
		return engines.Response{}, engines.Ended(ctx)
	}
	r := &rendering{
		call: &call{
			ctx: ctx, program: p, request: p.script.WithParameters(question.Request),
			values: make([]ref.Val, len(p.variables)),
		},
		answer: answer{Budget: engines.MaxResponseBytes},
	}
	if p.points != nil {
		r.call.reached = engines.NewCoverage(len(p.points))
	}
	body, kept, err := p.response.render(r)
	if err != nil {
		return engines.Response{Coverage: r.call.reached}, err
	}
	if !kept {
		return engines.Response{Coverage: r.call.reached},
			&engines.Error{Kind: engines.BadResponse, Location: engines.Location{File: p.script.Path},
				Message: "the response is optional.none(), which is no value: write .orValue({...})"}
	}
	return engines.Response{Body: body, Read: r.call.reads.Set(), Coverage: r.call.reached}, nil
}
