package manifest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

// Programs are the scripts of a definition.
type Programs struct {
	ByHook map[string]engines.Program
	// Revision is the ID that they have in a host. It is known even if they don't compile. It is empty if no hook is a script.
	Revision scripts.RevisionID
	Warnings []error
}

// Programs compiles the scripts of a definition as the host does. The errors of the programs, the warnings, the returned error, and what
// coverage counts have the places of the author's files. A definition without scripts has no programs.
func (s *Set) Programs(
	ctx context.Context, registry *engines.Registry, definition *document.Object, spec scripts.Spec,
) (Programs, error) {
	all := Programs{ByHook: map[string]engines.Program{}}
	if len(spec.Hooks) == 0 {
		return all, nil
	}
	compiled, err := scripts.Compile(ctx, registry, spec, s.Contents)
	if err != nil {
		return all, err
	}
	located := func(problems []scripts.Problem) []error {
		var errs []error
		for _, problem := range problems {
			errs = append(errs, s.located(definition, spec, problem))
		}
		return errs
	}
	all.Revision, all.Warnings = compiled.ID, located(compiled.Warnings)
	if problems := located(compiled.Problems); len(problems) > 0 {
		return all, errors.Join(problems...)
	}
	for hook, program := range compiled.Programs {
		points := slices.Clone(program.CoveragePoints())
		for i, p := range points {
			points[i].Location = s.Locate(definition, spec, compiled.Origins[p.Location.File], p.Location)
		}
		all.ByHook[hook] = locatedProgram{Program: program, points: points, locate: func(e *engines.Error) error {
			origin, known := compiled.Origins[e.Location.File]
			if !known {
				return e
			}
			return s.located(definition, spec, scripts.Problem{Origin: origin, Err: e})
		}}
	}
	return all, nil
}

// located returns the error of a problem, with its place in the files.
func (s *Set) located(definition *document.Object, spec scripts.Spec, problem scripts.Problem) error {
	var e *engines.Error
	if !errors.As(problem.Err, &e) {
		text := problem.Err.Error()
		if errors.Is(problem.Err, scripts.ErrMissing) && problem.Origin.Directory == "" {
			text = "it is not among the files, and no directory is laid in its place"
		}
		return &document.Error{
			Location: s.Locate(definition, spec, problem.Origin, engines.Location{}), Message: fmt.Sprintf("%s: %s", problem.Origin, text),
		}
	}
	located := *e
	located.Message += s.LeftOut(problem.Origin, e.Message)
	located.Location = s.Locate(definition, spec, problem.Origin, e.Location)
	return &located
}

// locatedProgram is a script whose errors and points have places in the author's files.
type locatedProgram struct {
	engines.Program
	points []engines.CoveragePoint
	locate func(*engines.Error) error
}

// CoveragePoints returns what calls report.
func (p locatedProgram) CoveragePoints() []engines.CoveragePoint { return p.points }

// Run runs the program.
func (p locatedProgram) Run(ctx context.Context, call engines.Call) (engines.Response, error) {
	response, err := p.Program.Run(ctx, call)
	var e *engines.Error
	if errors.As(err, &e) {
		err = p.locate(e)
	}
	return response, err
}
