package check

import (
	"context"
	"maps"
	"path"
	"slices"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

// checkTests reports the files of tests among scripts that a host could not run. It runs none.
func (d *definitionCheck) checkTests(ctx context.Context, spec scripts.Spec, compiled *scripts.Compiled) {
	severity := Error
	if spec.IgnoreTests {
		severity = Warning
	}
	for _, file := range slices.Sorted(maps.Keys(compiled.Files)) {
		if !scripts.IsTest(d.registry, file) {
			continue
		}
		for _, err := range d.testProblems(ctx, file, compiled.Files) {
			d.addProblem(spec, scripts.Problem{Origin: compiled.Origins[file], Err: err}, severity, reasonTestsFailed)
		}
	}
}

// testProblems returns why a file of tests can't be run.
func (d *definitionCheck) testProblems(ctx context.Context, file string, files engines.Files) []error {
	if path.Ext(file) != path.Ext(controllertest.FileSuffix) {
		if err := d.compileTest(ctx, file, files); err != nil {
			return []error{err}
		}
		return nil
	}
	var errs []error
	_, problems := controllertest.ParseHosted(file, files[file])
	for _, p := range problems {
		errs = append(errs, &engines.Error{Kind: engines.Invalid, Location: p.Location, Message: p.Message})
	}
	return errs
}

// compileTest compiles a file of tests of functions.
func (d *definitionCheck) compileTest(ctx context.Context, file string, files engines.Files) error {
	engine, err := d.registry.ForPath(file)
	if err != nil {
		return err
	}
	_, err = engine.Compile(ctx, engines.Source{Hook: engines.HookTest, Owner: d.name, Script: &engines.Script{Files: files, Path: file}})
	return err
}

// checkTestFiles reports what is wrong with tests that lie beside the definitions.
func (r *run) checkTestFiles() {
	for _, p := range controllertest.Problems(r.set.Files) {
		r.add(Finding{Severity: Error, Reason: reasonInvalid, Location: p.Location, Message: p.Message})
	}
}
