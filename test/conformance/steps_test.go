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

// epoch is the time at which every case begins.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// step is an entry of steps.yaml.
type step map[string]any

// env is a case that runs on one engine.
type env struct {
	*testCase
	ctx      context.Context
	clock    *testclock.FakeClock
	session  *render.Session
	programs map[string]engines.Program
	object   *unstructured.Unstructured // The definition.
	webhooks bool                       // The hooks are webhooks.
}

// run runs a case and returns the outcome of each step.
func (c *testCase) run(t *testing.T, engine engines.Definition, registry *engines.Registry) ([]fields, error) {
	e := &env{
		testCase: c, ctx: t.Context(), clock: testclock.NewFakeClock(epoch),
		object: c.definition.DeepCopy(), webhooks: !scripted(engine),
	}
	var err error
	if e.programs, err = c.programs(t, engine, registry, e.object); err != nil {
		return nil, err
	}
	e.session, err = render.Run(e.ctx, render.Input{
		Definition: e.object, Objects: c.objects, Resources: c.resources.list, Programs: e.programs,
		Clock: e.clock, RevisionNamespace: "libretto", Log: logr.Discard(),
	})
	var refused *render.RefusedError
	if errors.As(err, &refused) {
		return []fields{{{"refused", refused.Error()}}}, nil
	}
	if err != nil {
		return nil, err
	}
	t.Cleanup(e.session.Close)
	return e.runSteps()
}

func (e *env) runSteps() ([]fields, error) {
	var outcomes []fields
	for i, s := range e.testCase.steps {
		outcome, err := e.runStep(s)
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes, nil
}

// runStep runs one step.
func (e *env) runStep(s step) (fields, error) {
	for verb, act := range map[string]func(step) (fields, error){
		"pass": e.pass, "create": e.create, "change": e.change, "change status": e.changeStatus, "delete": e.delete,
		"advance": e.advance, "refuse": e.refuse, "restart": e.restart, "define": e.define,
	} {
		if s[verb] != nil {
			return act(s)
		}
	}
	return nil, fmt.Errorf("%v: no step is called so", s)
}

func (e *env) pass(s step) (fields, error) {
	object, err := e.resources.objectFor(fmt.Sprint(s["pass"]))
	if err != nil {
		return nil, err
	}
	result, err := e.session.Reconcile(e.ctx, object)
	if err != nil {
		return nil, err
	}
	return e.passOutcome(fmt.Sprint(s["pass"]), result), nil
}

func (e *env) create(s step) (fields, error) {
	given, ok := s["create"].(map[string]any)
	if !ok {
		return nil, errors.New("create: is no object")
	}
	object := &unstructured.Unstructured{Object: normalized(given)}
	resource, err := e.session.Cluster().ResourceOf(object.GroupVersionKind())
	if err == nil && resource.Namespaced && object.GetNamespace() == "" {
		object.SetNamespace(metav1.NamespaceDefault)
	}
	return e.edit("create", ref(object.GetKind(), object.GetNamespace(), object.GetName()), object, func(at dynamic.ResourceInterface) error {
		_, err := at.Create(e.ctx, object, metav1.CreateOptions{})
		return err
	})
}

func (e *env) change(s step) (fields, error) { return e.patch(s, "change") }

func (e *env) changeStatus(s step) (fields, error) { return e.patch(s, "change status", "status") }

func (e *env) patch(s step, verb string, subresources ...string) (fields, error) {
	name := fmt.Sprint(s[verb])
	object, err := e.resources.objectFor(name)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(s["with"])
	if err != nil {
		return nil, err
	}
	return e.edit(verb, name, object, func(at dynamic.ResourceInterface) error {
		_, err := at.Patch(e.ctx, object.GetName(), types.MergePatchType, body, metav1.PatchOptions{}, subresources...)
		return err
	})
}

func (e *env) delete(s step) (fields, error) {
	name := fmt.Sprint(s["delete"])
	object, err := e.resources.objectFor(name)
	if err != nil {
		return nil, err
	}
	options := metav1.DeleteOptions{}
	if policy, ok := s["propagation"].(string); ok {
		options.PropagationPolicy = (*metav1.DeletionPropagation)(&policy)
	}
	return e.edit("delete", name, object, func(at dynamic.ResourceInterface) error { return at.Delete(e.ctx, object.GetName(), options) })
}

// edit makes a change as another client. The outcome has the parents that it enqueued.
func (e *env) edit(verb, name string, object *unstructured.Unstructured, do func(dynamic.ResourceInterface) error) (fields, error) {
	err := e.session.Edit(e.ctx, func(client dynamic.Interface) error {
		at, err := render.Endpoint(e.session.Cluster(), client, object)
		if err != nil {
			return err
		}
		return do(at)
	})
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", verb, name, err)
	}
	return fields{{verb, name}, {"enqueued", append([]string{}, e.session.Enqueued()...)}}, nil
}

func (e *env) advance(s step) (fields, error) {
	by, err := time.ParseDuration(fmt.Sprint(s["advance"]))
	if err != nil {
		return nil, err
	}
	e.clock.Step(by)
	return fields{{"advance", s["advance"]}}, nil
}

func (e *env) refuse(s step) (fields, error) {
	how, _ := s["refuse"].(map[string]any)
	text := func(key string) string { value, _ := how[key].(string); return value }
	e.session.Refuse(memcluster.Refusal{
		Verb: memcluster.Verb(text("verb")), Resource: text("resource"), Name: text("name"),
		Reason: metav1.StatusReason(text("reason")), Times: 1,
	})
	return fields{{"refuse", text("verb") + " " + text("resource")}}, nil
}

// restart replaces the process by a new one without state in memory.
func (e *env) restart(step) (fields, error) { return e.redefine("restart") }

// define merges a patch into the definition.
func (e *env) define(s step) (fields, error) {
	patch, _ := s["define"].(map[string]any)
	e.object.Object = applyMergePatch(e.object.Object, normalized(patch))
	return e.redefine("define")
}

func (e *env) redefine(verb string) (fields, error) {
	err := e.session.Define(e.ctx, e.object, e.programs)
	var refused *render.RefusedError
	if errors.As(err, &refused) {
		return fields{{verb, "done"}, {"refused", refused.Error()}}, nil
	}
	return fields{{verb, "done"}}, err
}
