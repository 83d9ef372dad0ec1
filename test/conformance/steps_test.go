package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	testclock "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/render"
	"github.com/libretto-k8s/libretto/controllers/render/memcluster"
	"github.com/libretto-k8s/libretto/engines"
)

// epoch is when every case begins.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// step is an entry of steps.yaml: what happens, and to whom.
type step map[string]any

// play is one case being run on one engine.
type play struct {
	*testCase
	ctx      context.Context
	clock    *testclock.FakeClock
	session  *render.Session
	programs map[string]engines.Program
	object   *unstructured.Unstructured // the definition
	remote   bool                       // the hooks are webhooks
}

// run runs a case and gives what came of each step.
func (c *testCase) run(t *testing.T, engine engines.Definition, registry *engines.Registry) ([]fields, error) {
	p := &play{testCase: c, ctx: t.Context(), clock: testclock.NewFakeClock(epoch), object: c.definition.DeepCopy(), remote: !scripted(engine)}
	var err error
	if p.programs, err = c.programs(t, engine, registry, p.object); err != nil {
		return nil, err
	}
	p.session, err = render.Run(p.ctx, render.Input{
		Definition: p.object, Objects: c.objects, Resources: c.resources.list, Programs: p.programs,
		Clock: p.clock, RevisionNamespace: "libretto", Log: logr.Discard(),
	})
	var refused *render.RefusedError
	if errors.As(err, &refused) {
		return []fields{{{"refused", refused.Error()}}}, nil
	}
	if err != nil {
		return nil, err
	}
	t.Cleanup(p.session.Close)
	return p.steps()
}

func (p *play) steps() ([]fields, error) {
	var outcomes []fields
	for i, s := range p.testCase.steps {
		outcome, err := p.do(s)
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes, nil
}

// do takes one step.
func (p *play) do(s step) (fields, error) {
	for verb, act := range map[string]func(step) (fields, error){
		"pass": p.pass, "create": p.create, "change": p.change, "change status": p.changeStatus, "delete": p.delete,
		"advance": p.advance, "refuse": p.refuse, "restart": p.restart, "define": p.define,
	} {
		if s[verb] != nil {
			return act(s)
		}
	}
	return nil, fmt.Errorf("%v: no step is called so", s)
}

func (p *play) pass(s step) (fields, error) {
	object, err := p.resources.named(fmt.Sprint(s["pass"]))
	if err != nil {
		return nil, err
	}
	result, err := p.session.Reconcile(p.ctx, object)
	if err != nil {
		return nil, err
	}
	return p.told(fmt.Sprint(s["pass"]), result), nil
}

func (p *play) create(s step) (fields, error) {
	given, ok := s["create"].(map[string]any)
	if !ok {
		return nil, errors.New("create: is no object")
	}
	object := &unstructured.Unstructured{Object: normalized(given)}
	if resource, err := p.session.Cluster().ResourceOf(object.GroupVersionKind()); err == nil && resource.Namespaced && object.GetNamespace() == "" {
		object.SetNamespace(metav1.NamespaceDefault)
	}
	return p.edit("create", ref(object.GetKind(), object.GetNamespace(), object.GetName()), object, func(at dynamic.ResourceInterface) error {
		_, err := at.Create(p.ctx, object, metav1.CreateOptions{})
		return err
	})
}

func (p *play) change(s step) (fields, error) { return p.patch(s, "change") }

func (p *play) changeStatus(s step) (fields, error) { return p.patch(s, "change status", "status") }

func (p *play) patch(s step, verb string, subresources ...string) (fields, error) {
	name := fmt.Sprint(s[verb])
	object, err := p.resources.named(name)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(s["with"])
	if err != nil {
		return nil, err
	}
	return p.edit(verb, name, object, func(at dynamic.ResourceInterface) error {
		_, err := at.Patch(p.ctx, object.GetName(), types.MergePatchType, body, metav1.PatchOptions{}, subresources...)
		return err
	})
}

func (p *play) delete(s step) (fields, error) {
	name := fmt.Sprint(s["delete"])
	object, err := p.resources.named(name)
	if err != nil {
		return nil, err
	}
	options := metav1.DeleteOptions{}
	if policy, ok := s["propagation"].(string); ok {
		options.PropagationPolicy = (*metav1.DeletionPropagation)(&policy)
	}
	return p.edit("delete", name, object, func(at dynamic.ResourceInterface) error { return at.Delete(p.ctx, object.GetName(), options) })
}

// edit does what somebody else does, and tells who is woken by it.
func (p *play) edit(verb, name string, object *unstructured.Unstructured, do func(dynamic.ResourceInterface) error) (fields, error) {
	err := p.session.Edit(p.ctx, func(client dynamic.Interface) error {
		at, err := render.Endpoint(p.session.Cluster(), client, object)
		if err != nil {
			return err
		}
		return do(at)
	})
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", verb, name, err)
	}
	return fields{{verb, name}, {"woken", append([]string{}, p.session.Enqueued()...)}}, nil
}

func (p *play) advance(s step) (fields, error) {
	by, err := time.ParseDuration(fmt.Sprint(s["advance"]))
	if err != nil {
		return nil, err
	}
	p.clock.Step(by)
	return fields{{"advance", s["advance"]}}, nil
}

func (p *play) refuse(s step) (fields, error) {
	how, _ := s["refuse"].(map[string]any)
	text := func(key string) string { value, _ := how[key].(string); return value }
	p.session.Refuse(memcluster.Refusal{
		Verb: memcluster.Verb(text("verb")), Resource: text("resource"), Name: text("name"), Reason: metav1.StatusReason(text("reason")), Times: 1,
	})
	return fields{{"refuse", text("verb") + " " + text("resource")}}, nil
}

// restart goes on with a new process that remembers nothing.
func (p *play) restart(step) (fields, error) { return p.redefine("restart") }

// define merges a patch into the definition.
func (p *play) define(s step) (fields, error) {
	patch, _ := s["define"].(map[string]any)
	p.object.Object = merged(p.object.Object, normalized(patch))
	return p.redefine("define")
}

func (p *play) redefine(verb string) (fields, error) {
	err := p.session.Define(p.ctx, p.object, p.programs)
	var refused *render.RefusedError
	if errors.As(err, &refused) {
		return fields{{verb, "done"}, {"refused", refused.Error()}}, nil
	}
	return fields{{verb, "done"}}, err
}
