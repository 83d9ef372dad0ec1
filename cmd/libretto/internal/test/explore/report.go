package explore

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// failure returns what a path that fails has in common with others that fail in the same way, or "".
func (e *explorer) failure(p path, o outcome) string {
	switch {
	case o.ending.Unsettled != "":
		return "unsettled"
	case o.ending.Err != nil:
		return "fails: " + o.ending.Err.Error()
	case o.allowed:
		return ""
	}
	want := e.ends[p.from.step]
	return strings.Join(differ(want.state, o.end).lines, "\n")
}

// finish makes the failures of the report.
func (e *explorer) finish(ctx context.Context) error {
	for _, key := range e.order {
		f, err := e.describe(ctx, e.groups[key])
		if err != nil {
			return err
		}
		e.report.Failures = append(e.report.Failures, f)
	}
	return nil
}

// describe returns the failure of a group of paths, with a case that fails.
func (e *explorer) describe(ctx context.Context, g *group) (controllertest.Failure, error) {
	want, o := e.ends[g.path.from.step], g.outcome
	d := differ(want.state, o.end)
	f := controllertest.Failure{Location: e.Case.Location}
	switch {
	case o.ending.Unsettled != "":
		f.Message, d = "the controller does not settle: "+o.ending.Unsettled, difference{}
	case o.ending.Err != nil:
		f.Message, d = "the last pass fails: "+o.ending.Err.Error(), difference{}
	default:
		f.Message = "the controller comes to another end"
	}
	words := append(slices.Clone(g.path.from.words), g.path.sentence())
	f.Message = fmt.Sprintf("%s: in step %d, %s", f.Message, g.path.from.step+1, strings.Join(words, ", and "))
	switch g.others {
	case 0:
	case 1:
		f.Message += " (and on 1 other path)"
	default:
		f.Message += fmt.Sprintf(" (and on %d other paths)", g.others)
	}
	f.Diff = d.lines
	var err error
	f.Case, err = e.failingCase(ctx, g, d)
	if err == nil && f.Case == "" {
		f.Message += "; no case can say this"
	}
	return f, errors.Join(err, hideSecrets(ctx, &f, want.checkpoint, o.checkpoint))
}

// hideSecrets hides the values of the Secrets of several states.
func hideSecrets(ctx context.Context, f *controllertest.Failure, checkpoints ...*controllertest.Checkpoint) error {
	for _, checkpoint := range checkpoints {
		execution, err := checkpoint.Resume(ctx)
		if err != nil {
			return err
		}
		execution.HideSecrets(f)
		execution.Close()
	}
	return nil
}

// failingCase returns a case that fails when it is run, or "". It is tried without a restart of the host before the fault, and with one:
// paths begin with a host that has just started.
func (e *explorer) failingCase(ctx context.Context, g *group, d difference) (string, error) {
	for _, restart := range []bool{false, true} {
		c := e.caseOf(g, d, restart)
		text, err := yaml.Marshal([]any{c})
		if err != nil {
			return "", err
		}
		fails, err := e.fails(ctx, string(text))
		if err == nil && fails && !e.Subject.Subject.ShowSecrets {
			text, err = withoutSecrets(text)
		}
		if fails || err != nil {
			return string(text), err
		}
	}
	return "", nil
}

// withoutSecrets returns a case whose Secrets hold other values, with which it can still be loaded.
func withoutSecrets(text []byte) ([]byte, error) {
	var c any
	if err := yaml.Unmarshal(text, &c); err != nil {
		return nil, err
	}
	hideValues(c)
	return yaml.Marshal(c)
}

// hideValues replaces the values of all Secrets in a value. In a case a Secret may have no apiVersion.
func hideValues(value any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			hideValues(item)
		}
	case map[string]any:
		if version := v["apiVersion"]; v["kind"] != "Secret" || version != nil && version != "v1" {
			for _, field := range v {
				hideValues(field)
			}
			return
		}
		for field, hidden := range map[string]string{
			"data": base64.StdEncoding.EncodeToString([]byte(jsonvalue.Hidden)), "stringData": jsonvalue.Hidden,
		} {
			values := jsonvalue.ObjectIn(v, field)
			for key := range values {
				values[key] = hidden
			}
		}
	}
}

// caseOf returns the path as a case.
func (e *explorer) caseOf(g *group, d difference, restart bool) *controllertest.Case {
	c := *e.Case
	c.Name = fmt.Sprintf("%s: %s", c.Name, g.path.fault.words)
	c.Each, c.From, c.Golden, c.Explore, c.KnownFailure = nil, nil, "", nil, ""
	steps := e.Case.Steps
	if len(steps) == 0 {
		steps, c.Step = []controllertest.Step{e.Case.Step}, controllertest.Step{}
	}
	c.Steps = slices.Clone(steps[:g.path.from.step])
	for i := range c.Steps {
		c.Steps[i].Want = nil
	}
	var path []controllertest.Step
	for _, step := range g.path.from.path {
		step.Want, step.Fails = nil, ""
		if !reflect.DeepEqual(step, withPasses(controllertest.Step{}, 0)) {
			path = append(path, step)
		}
	}
	fault := g.path.fault.step
	fault.Restart = restart
	fault.StepName = g.path.fault.words
	c.Steps = append(append(c.Steps, path...), fault)
	c.Steps = append(c.Steps, g.outcome.steps...)
	last := &c.Steps[len(c.Steps)-1]
	last.StepName = "then it settles"
	if len(d.lines) > 0 {
		last.Want = &d.want
	}
	return &c
}

// fails reports whether a case in a file of its own fails, as a runner of tests sees it.
func (e *explorer) fails(ctx context.Context, text string) (bool, error) {
	test, c, err := inFile(e.Test, text)
	if err != nil {
		return false, err
	}
	result := controllertest.RunCase(ctx, e.Engines, test, c, e.Subject.Subject)
	return result.Outcome == controllertest.Failed, ctx.Err()
}

// inFile returns a case as it is in a file of its own, with the rest of a test.
func inFile(of *controllertest.ControllerTest, text string) (*controllertest.ControllerTest, *controllertest.Case, error) {
	test := *of
	test.Cases = nil
	header, err := yaml.Marshal(test)
	if err != nil {
		return nil, nil, err
	}
	head := strings.Replace(string(header), "cases: null\n", "", 1)
	file, problems := controllertest.Parse(of.File, []byte(head+"cases:\n"+text))
	if len(problems) > 0 {
		return nil, nil, fmt.Errorf("the case of a failing path cannot be read: %w\n%s", problems[0], text)
	}
	return file.Tests[0], &file.Tests[0].Cases[0], nil
}

// Step is a step of a case, and what it comes to.
type Step struct {
	Title   string
	Writes  []memcluster.Write
	Objects []*unstructured.Unstructured
}

// Steps does the steps of a case that a failure has.
func Steps(ctx context.Context, subject Subject, text string) ([]Step, error) {
	test, c, err := inFile(subject.Test, text)
	if err != nil {
		return nil, err
	}
	execution, err := controllertest.Begin(ctx, subject.Engines, test, c, subject.Subject)
	if err != nil {
		return nil, err
	}
	defer execution.Close()
	var steps []Step
	for i, step := range c.Steps {
		done := Step{Title: cmp.Or(step.StepName, fmt.Sprintf("step %d", i+1))}
		_, err := execution.Do(ctx, step, func(writes []memcluster.Write) { done.Writes = append(done.Writes, writes...) })
		if err != nil {
			return nil, err
		}
		done.Objects = execution.Checkpoint().Objects()
		steps = append(steps, done)
	}
	return steps, nil
}
