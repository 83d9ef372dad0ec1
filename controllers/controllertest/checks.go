package controllertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/render/memcluster"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/jsonvalue"
)

// skips reports whether the file or the case turns a check off.
func (r *runner) skips(check Check) bool {
	return r.test.SkipChecks[check] != "" || r.testCase.SkipChecks[check] != ""
}

// failCheck notes that a check failed, unless it is turned off.
func (s *stepRun) failCheck(check Check, f Failure) {
	if s.skips(check) {
		return
	}
	f.Check, f.Location = check, s.place("")
	s.fail(f)
}

// checkPasses makes the checks about what the passes wrote.
func (s *stepRun) checkPasses() {
	for _, pass := range s.passes {
		for _, write := range pass.Writes {
			s.checkWrite(write)
		}
	}
}

// checkWrite checks that the schema accepts a write, and has all of its fields. Refusals that the step asks for are none of the schema's.
func (s *stepRun) checkWrite(w memcluster.Write) {
	switch {
	case w.Err != nil && apierrors.IsInvalid(w.Err) && !s.isRefused(w):
		s.failCheck(CheckValid, Failure{Message: describeWrite(w) + " is refused: " + w.Err.Error()})
	case len(w.Dropped) > 0:
		s.failCheck(CheckValid, Failure{Message: fmt.Sprintf(
			"%s: the schema has no %s, which is dropped", describeWrite(w), strings.Join(w.Dropped, ", "))})
	}
}

// isRefused reports whether the case asks for a refusal like that of a write.
func (s *stepRun) isRefused(w memcluster.Write) bool {
	steps := append([]Step{s.testCase.Step}, s.testCase.Steps...)
	return slices.ContainsFunc(steps, func(step Step) bool {
		return slices.ContainsFunc(step.Refuse, func(r Refusal) bool {
			return r.Verb == string(w.Verb) && apierrors.ReasonForError(w.Err) == r.Reason && (r.Name == "" || r.Name == w.Name)
		})
	})
}

// checkSettled checks that one more pass writes nothing.
func (s *stepRun) checkSettled(ctx context.Context) error {
	if s.skips(CheckSettles) {
		return nil
	}
	before := len(s.passes)
	s.clock.Step(time.Second)
	if _, err := s.pass(ctx); err != nil {
		return err
	}
	for _, pass := range s.passes[before:] {
		for _, w := range pass.Writes {
			f := Failure{Message: fmt.Sprintf("it does not settle: one more pass makes the write %s", describeWrite(w))}
			if w.Before != nil && w.After != nil {
				f.Diff = changeLines(w.Before, w.After)
			}
			s.failCheck(CheckSettles, f)
			return nil
		}
	}
	s.checkPasses()
	return nil
}

// changeLines returns the lines in which two versions of an object differ.
func changeLines(before, after *unstructured.Unstructured) []string {
	var lines []string
	d := jsonvalue.Differ{
		Match: func([]any, []any) ([]jsonvalue.Pair, bool) { return nil, false },
		Found: func(path jsonvalue.Path, a, b any) {
			name := pathText(path)
			if strings.HasPrefix(name, "metadata.resourceVersion") || strings.HasPrefix(name, "metadata.managedFields") {
				return
			}
			if a != nil {
				lines = append(lines, "- "+name+": "+inline(a))
			}
			if b != nil {
				lines = append(lines, "+ "+name+": "+inline(b))
			}
		},
	}
	d.Compare(before.Object, after.Object)
	return lines[:min(len(lines), maxDiffLines)]
}

func pathText(path jsonvalue.Path) string {
	text := ""
	for _, step := range path {
		if step.Item {
			text += "[" + step.Name + "]"
		} else {
			text = join(text, step.Name)
		}
	}
	return text
}

// madeBy returns the place in a script that made an object, if it is known.
func (c *comparison) madeBy(*unstructured.Unstructured) engines.Location { return engines.Location{} }

func (r *runner) maskSecrets() {}
