package javascript

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dop251/goja"

	"github.com/libretto-k8s/libretto/engines"
)

// load runs the modules, to see that they run and export the hook's function.
func (p *program) load(ctx context.Context) error {
	r, err := p.newRealm(ctx, time.Unix(0, 0).UTC(), "")
	if err == nil && !p.ofTests && p.script.Signature != engines.HTTPContext {
		_, err = r.guard(ctx, func() (any, error) { // A function may have a toString of its own.
			p.parameters = r.manyParameters()
			return nil, nil
		})
	}
	p.release(r, err)
	var e *engines.Error
	if errors.As(err, &e) && e.Kind == engines.Failed && ctx.Err() == nil {
		e.Kind = engines.Invalid
	}
	p.explained(err, "")
	if err == nil && p.parameters != "" {
		p.warnings = append(p.warnings, p.invalid("%s", p.parameters))
	}
	return err
}

// wanted returns the name of the hook's function.
func wanted(src engines.Source) string { return cmp.Or(src.Script.Function, src.Hook) }

// function runs the modules in the isolate and returns the hook's function: the export of
// its name or, failing that, the default export, or what that has under the name.
func (p *program) function(i *isolate) (goja.Callable, error) {
	exports, err := p.exports(i)
	if err != nil {
		return nil, err
	}
	if o, ok := exports.(*goja.Object); ok {
		found := o.Get(p.export)
		if call, ok := i.method(o, found); ok {
			return call, nil
		}
		if isDefined(found) {
			return nil, p.invalid("the export %q is not a function", p.export)
		}
		if byDefault := o.Get("default"); isDefined(byDefault) {
			return p.fromDefault(i, byDefault)
		}
	}
	if call, ok := i.method(nil, exports); ok && p.script.Function == "" {
		return call, nil
	}
	return nil, p.invalid("no export %q or \"default\": %s", p.export, listed("the script exports", exports))
}

// fromDefault returns the hook's function of a default export: itself, unless the definition
// names a function, or what it has under the name.
func (p *program) fromDefault(i *isolate, exported goja.Value) (goja.Callable, error) {
	if call, ok := i.method(nil, exported); ok && p.script.Function == "" {
		return call, nil
	}
	o, ok := exported.(*goja.Object)
	if !ok {
		return nil, p.invalid("the default export is neither a function nor an object of functions")
	}
	found := o.Get(p.export)
	if call, ok := i.method(o, found); ok {
		return call, nil
	}
	if isDefined(found) {
		return nil, p.invalid("%q of the default export is not a function", p.export)
	}
	return nil, p.invalid("no export %q, by name or in the default export: %s", p.export, listed("that has", exported))
}

// method returns the hook's function, of an object unless that is nil, called as such.
func (i *isolate) method(of *goja.Object, found goja.Value) (goja.Callable, bool) {
	call, ok := goja.AssertFunction(found)
	if ok {
		i.hook = found
	}
	this := goja.Undefined()
	if of != nil {
		this = of
	}
	return func(_ goja.Value, args ...goja.Value) (goja.Value, error) { return call(this, args...) }, ok
}

// severalNames matches the parameters of a function that are several names.
var severalNames = regexp.MustCompile(`^[^(]{0,100}\(\s*([\w$]+(?:\s*,\s*[\w$]+)+)\s*\)`)

// manyParameters returns what to do about a hook that takes more than the one object that it is given, or "".
func (i *isolate) manyParameters() string {
	found := severalNames.FindStringSubmatch(i.hook.String())
	if found == nil {
		return ""
	}
	first, others, _ := strings.Cut(found[1], ",")
	if slices.Contains([]string{"parent", "object", "controller", "children"}, strings.TrimSpace(first)) {
		return fmt.Sprintf("a hook is given one object: write ({ %s }) in place of (%s)", found[1], found[1])
	}
	return fmt.Sprintf("a hook is given one object, %s: leave out %s, which is always undefined", first, strings.TrimSpace(others))
}

func isDefined(v goja.Value) bool { return v != nil && !goja.IsUndefined(v) }

func (p *program) invalid(format string, args ...any) *engines.Error {
	return engines.InvalidError(engines.Location{File: p.script.Path}, format, args...)
}

// exports runs the bundle and returns what it left in module.exports.
func (p *program) exports(i *isolate) (goja.Value, error) {
	if err := i.addGlobals(p.globals); err != nil {
		return nil, err
	}
	wrapper, err := i.rt.RunProgram(p.code)
	if err != nil {
		return nil, err
	}
	run, _ := goja.AssertFunction(wrapper)
	module, exports := i.rt.NewObject(), i.rt.NewObject()
	if err := module.Set("exports", exports); err != nil {
		return nil, err
	}
	i.held = append(i.held, module)
	given := []goja.Value{module, exports, i.rt.ToValue(i.callAuthoring), goja.Undefined()}
	if p.ofTests {
		given[3] = i.rt.ToValue(i.stack)
	}
	if p.points != nil {
		given = append(given, i.rt.ToValue(i.takeReport))
	}
	if _, err := run(goja.Undefined(), given...); err != nil {
		return nil, err
	}
	return module.Get("exports"), nil
}

func listed(what string, exports goja.Value) string {
	o, ok := exports.(*goja.Object)
	if !ok || len(o.Keys()) == 0 {
		return what + " nothing by name"
	}
	return what + " " + strings.Join(o.Keys(), ", ")
}
