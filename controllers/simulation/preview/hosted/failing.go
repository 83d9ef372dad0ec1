package hosted

import (
	"context"
	"time"

	"github.com/libretto-k8s/libretto/controllers/definition"
	"github.com/libretto-k8s/libretto/controllers/rollout"
)

// HasFailingParent reports whether a parent fails with the scripts. It returns false if that is unknown.
func (p *Previewer) HasFailingParent(ctx context.Context, subject definition.PreviewSubject) bool {
	release, err := p.slots.Acquire(ctx, subject.TrustDomain)
	if err != nil {
		return false
	}
	defer release()
	r := &run{Previewer: p, PreviewSubject: subject, until: time.Now().Add(sampleTime)}
	results, err := r.results(ctx, subject.Parents().Next(1))
	if err != nil {
		return false
	}
	for _, o := range results {
		if o.Err != nil && !rollout.IsUnknown(o.Err) {
			return true
		}
	}
	return false
}
