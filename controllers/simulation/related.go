package simulation

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/engines"
)

// withRelated makes the customize hook among programs bring what it selects into the cluster, and what parents name. Where there is no
// hook, one that selects nothing is added for that.
func (s *Session) withRelated(config *parent.Config, r *running, programs map[string]engines.Program) {
	customize := string(v1alpha1.CustomizeHook)
	if s.related == nil && r.observer == nil || config.Customize == nil {
		return
	}
	if config.Customize.Absent {
		with := *config.Customize
		with.Absent = false
		config.Customize, programs[customize] = &with, nothing{}
	}
	if programs[customize] != nil {
		programs[customize] = relatedProgram{Program: programs[customize], session: s, running: r, config: config.Customize}
	}
}

// nothing is a customize hook that selects nothing.
type nothing struct{ engines.ProgramBase }

// Run returns an empty response.
func (nothing) Run(context.Context, engines.Call) (engines.Response, error) {
	return engines.Response{Body: map[string]any{}, Read: engines.ReadSet{}}, nil
}

// relatedProgram is a customize hook whose answers are read before they are used.
type relatedProgram struct {
	engines.Program
	session *Session
	running *running
	config  *parent.Customize
}

// Run runs the program, and returns when the caches have the objects that it selects. What is wrong with an answer is left to the pass.
func (p relatedProgram) Run(ctx context.Context, call engines.Call) (engines.Response, error) {
	response, err := p.Program.Run(ctx, call)
	about, _ := call.Request["parent"].(map[string]any)
	if err != nil || about == nil {
		return response, err
	}
	selections, invalid := p.config.Selections(&unstructured.Unstructured{Object: about}, response.Body)
	if invalid != nil {
		return response, nil
	}
	for _, selection := range selections {
		if p.running.observer != nil {
			p.running.observer.Selected(p.session.plan, (&unstructured.Unstructured{Object: about}).GetNamespace(), selection)
		}
		if p.session.related == nil {
			continue
		}
		objects, err := p.session.related(ctx, selection)
		if err != nil {
			return engines.Response{}, &engines.Error{Kind: engines.Failed, Err: err, Message: err.Error()}
		}
		for _, object := range objects {
			if err := p.session.cluster.Store(object); err != nil {
				return engines.Response{}, err
			}
		}
	}
	if p.session.related == nil {
		return response, nil
	}
	return response, p.session.barrier(ctx, p.running.pool)
}
