package hosted

import (
	"context"

	"github.com/libretto-k8s/libretto/controllers/definition"
)

// Fails reports whether a parent of the sample fails with the scripts. It returns false if that can't be told.
func (p *Previewer) Fails(ctx context.Context, subject definition.PreviewSubject) bool {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return false
	}
	outcomes, err := p.run(ctx, subject, subject.Plan, subject.Scripts, everyParent)
	if err != nil {
		return false
	}
	for _, o := range outcomes {
		if o.Err != nil && !isUnknown(o.Err) {
			return true
		}
	}
	return false
}
