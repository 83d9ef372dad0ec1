package controllertest

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/engines"
)

// Limits of a file.
const (
	maxCases = 10_000
	maxSteps = 1000
	// maxInherited is how many steps the cases of a file may have in all that are those of other cases.
	maxInherited = 20_000
	maxPasses    = 1000
	// maxExpanded is how many values the cases of a file may have in all, with each expanded.
	maxExpanded = 2_000_000
	// maxExpandedBytes is how many bytes the strings of a file may have in all in which each has replaced something.
	maxExpandedBytes = 64 << 20
)

// Limits bound what a file may hold, for a process that must not grow with what others write.
type Limits struct {
	// Values is how many values the file may hold with aliases expanded, and its cases with each expanded.
	Values int
	// Bytes is how many bytes the strings may have in all in which each has replaced something.
	Bytes int
}

// File is a file of tests.
type File struct {
	Name string
	// Tests are the file's documents. The cases of each are expanded.
	Tests []*ControllerTest
}

// Parse reads a file. The cases without a problem are returned even if there are others.
func Parse(file string, text []byte) (*File, []*document.Error) {
	objects, problems := document.Read(file, text)
	f, problems := parse(file, objects, problems, Limits{Values: maxExpanded, Bytes: maxExpandedBytes})
	var tests []*ControllerTest
	own := hasDefinition(objects)
	for _, test := range f.Tests {
		if own && test.Definition == "" && len(test.Definitions) == 0 {
			test.Definition = filepath.Base(file)
		}
		tests = append(tests, forEachDefinition(test)...)
	}
	f.Tests = tests
	return f, problems
}

// hasDefinition reports whether a file has a definition beside its tests. What else is in it is then loaded as that of any file with a
// definition: scripts and CustomResourceDefinitions.
func hasDefinition(objects []*document.Object) bool {
	return slices.ContainsFunc(objects, func(object *document.Object) bool {
		return v1alpha1.IsDefinition(object.GroupVersionKind().GroupKind())
	})
}

// forEachDefinition returns a document for each of the definitions of one, or the one.
func forEachDefinition(test *ControllerTest) []*ControllerTest {
	if len(test.Definitions) == 0 {
		return []*ControllerTest{test}
	}
	var tests []*ControllerTest
	for _, definition := range test.Definitions {
		next := *test
		next.Definition, next.Definitions, next.Cases = definition, nil, slices.Clone(test.Cases)
		for i := range next.Cases {
			next.Cases[i].Name += " (" + definition + ")"
		}
		tests = append(tests, &next)
	}
	return tests
}

// ParseWithin is Parse with other limits, for a process that has the definition: the cases are not repeated for definitions.
func ParseWithin(file string, text []byte, limits Limits) (*File, []*document.Error) {
	objects, problems := document.ReadWithin(file, text, limits.Values)
	return parse(file, objects, problems, limits)
}

func parse(file string, objects []*document.Object, problems []*document.Error, limits Limits) (*File, []*document.Error) {
	f := &File{Name: file}
	p := &parser{names: map[string]engines.Location{}, limits: limits}
	own := hasDefinition(objects)
	for _, object := range objects {
		if own && object.GetKind() != Kind {
			continue
		}
		if test := p.test(object); test != nil {
			test.File = file
			f.Tests = append(f.Tests, test)
		}
	}
	if len(objects) == 0 && len(problems) == 0 {
		p.failf(engines.Location{File: file}, "is empty: it needs kind %s and cases", Kind)
	}
	problems = append(problems, p.problems...)
	slices.SortStableFunc(problems, func(a, b *document.Error) int {
		return cmp.Or(cmp.Compare(a.Location.Line, b.Location.Line), cmp.Compare(a.Location.Column, b.Location.Column))
	})
	return f, problems
}

// parser reads the documents of one file.
type parser struct {
	names map[string]engines.Location
	cases int
	// inherited counts steps.
	inherited int
	values    int
	bytes     int
	limits    Limits
	problems  []*document.Error
}

func (p *parser) failf(at engines.Location, format string, args ...any) {
	p.problems = append(p.problems, &document.Error{Location: at, Message: fmt.Sprintf(format, args...)})
}

// test reads a document, or returns nil.
func (p *parser) test(object *document.Object) *ControllerTest {
	if object.GetKind() != Kind {
		p.failf(object.Place("kind"), "kind is %s, and must be %s: objects of a case are in given, or in files that given names; "+
			"a file may have other objects only beside the definition that it tests",
			object.GetKind(), Kind)
		return nil
	}
	if object.GetAPIVersion() != APIVersion {
		p.failf(object.Place("apiVersion"), "apiVersion is %s, and must be %s", object.GetAPIVersion(), APIVersion)
		return nil
	}
	fields := maps.Clone(object.Object)
	raw := fields["cases"]
	for _, name := range []string{"cases", "apiVersion", "kind"} {
		delete(fields, name)
	}
	test := &ControllerTest{TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: Kind}, Location: object.Location}
	d := &decoder{place: object.Place}
	d.decode("", fields, reflect.ValueOf(test).Elem())
	d.checkSkips("skipChecks", test.SkipChecks)
	d.checkDefinitions(test)
	p.problems = append(p.problems, d.problems...)
	items, isList := raw.([]any)
	if !isList || len(items) == 0 {
		p.failf(object.Place("cases"), "cases is missing: it is a list with one case at least")
		return test
	}
	for i, item := range items {
		p.addCases(test, object, i, item)
	}
	if n := len(test.Definitions); n > 1 && len(test.Cases)*n > maxCases {
		p.failf(object.Place("definitions"), "the file has more than %d cases, with those of each of definitions: split it", maxCases)
		test.Definitions = nil
	}
	return test
}

// addCases adds a case, or those that each makes of it.
func (p *parser) addCases(test *ControllerTest, object *document.Object, index int, item any) {
	field := fmt.Sprintf("cases[%d]", index)
	fields, ok := item.(map[string]any)
	if !ok {
		p.failf(object.Place(field), "%s must be an object with a name", field)
		return
	}
	expanded, problem := p.expand(object, field, fields)
	if problem != nil {
		p.problems = append(p.problems, problem)
		return
	}
	for _, fields := range expanded {
		d := &decoder{place: object.Place}
		c := Case{Location: object.Place(field), place: func(below string) engines.Location { return object.Place(field + below) }}
		d.decode(field, fields, reflect.ValueOf(&c).Elem())
		d.check(field, &c)
		p.inherit(d, join(field, "from"), test, &c)
		if c.Name == "" {
			d.failf(field, "%s has no name", field)
		} else if before, taken := p.names[c.Name]; taken {
			d.failf(join(field, "name"), "there are two cases %q: the other one is on line %d", c.Name, before.Line)
		}
		if len(d.problems) > 0 {
			p.problems = append(p.problems, d.problems...)
			return // Those of the other entries of each are the same.
		}
		p.names[c.Name] = c.Location
		test.Cases = append(test.Cases, c)
	}
}

// inherit puts the steps of the case that from names before those of a case. What they want is compared there.
func (p *parser) inherit(d *decoder, field string, test *ControllerTest, c *Case) {
	if c.From == nil || len(d.problems) > 0 {
		return
	}
	i := slices.IndexFunc(test.Cases, func(other Case) bool { return other.Name == c.From.Case })
	switch {
	case i < 0:
		d.failf(field, "from: there is no case %q above this one, in the same document", c.From.Case)
		return
	case c.Hook != "" || test.Cases[i].Hook != "":
		d.failf(field, "from: a case that calls a hook alone has no steps")
		return
	case c.Given != nil || c.DefinitionPatch != nil || c.Webhooks != nil:
		d.failf(field, "%q begins as %q does: change things in a step, with create, define or respond, and not by given, definitionPatch or webhooks",
			c.Name, c.From.Case)
		return
	}
	other := &test.Cases[i]
	before := other.allSteps()
	if c.From.Step != "" {
		last := slices.IndexFunc(before, func(s Step) bool { return s.StepName == c.From.Step })
		if last < 0 {
			d.failf(field, "from: the case %q has no step %q: name it there with step: %s", c.From.Case, c.From.Step, c.From.Step)
			return
		}
		before = before[:last+1]
	}
	if p.inherited += len(before); p.inherited > maxInherited {
		d.failf(field, "the cases of the file have more than %d steps by from: split it", maxInherited)
		return
	}
	for i := range before {
		c.inherited = append(c.inherited, other.placeOf(i))
	}
	c.single, c.Steps, c.Step = len(c.Steps) == 0, slices.Concat(before, c.allSteps()), Step{}
	for i := range before {
		c.Steps[i].Want = nil
	}
	c.Given, c.DefinitionPatch, c.Webhooks = other.Given, other.DefinitionPatch, other.Webhooks
	skips := map[Check]string{}
	maps.Copy(skips, other.SkipChecks)
	maps.Copy(skips, c.SkipChecks)
	c.SkipChecks = skips
}

// allSteps returns the steps of a case, of which there is always one.
func (c *Case) allSteps() []Step {
	if len(c.Steps) == 0 {
		return []Step{c.Step}
	}
	return c.Steps
}

// placeOf returns where a step is.
func (c *Case) placeOf(step int) place {
	own := step - len(c.inherited)
	switch {
	case own < 0:
		return c.inherited[step]
	case c.single || len(c.Steps) == 0:
		return place{c.place, ""}
	}
	return place{c.place, fmt.Sprintf(".steps[%d]", own)}
}
