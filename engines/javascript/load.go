package javascript

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dop251/goja"

	"github.com/libretto-k8s/libretto/engines"
)

// load runs the modules once, to see that they run and export the hook's function.
func (p *program) load(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	i := newIsolate(time.Unix(0, 0).UTC(), "")
	_, err := i.guard(ctx, func() (any, error) {
		_, err := p.function(i)
		return nil, err
	})
	var e *engines.Error
	if errors.As(err, &e) && e.Kind == engines.Failed && ctx.Err() == nil {
		e.Kind = engines.Invalid
	}
	return err
}

// candidates are the exports that may be the hook's function, best first.
func candidates(src engines.Source) []string {
	if src.Script.Function != "" {
		return []string{src.Script.Function}
	}
	return []string{src.Hook, "default"}
}

// function runs the modules in the isolate and gives the hook's function.
func (p *program) function(i *isolate) (goja.Callable, error) {
	exports, err := p.exports(i)
	if err != nil {
		return nil, err
	}
	if o, ok := exports.(*goja.Object); ok {
		for _, name := range p.candidates {
			found := o.Get(name)
			if call, ok := goja.AssertFunction(found); ok {
				return call, nil
			}
			if found != nil && !goja.IsUndefined(found) {
				return nil, p.unfit(fmt.Sprintf("the export %q is not a function", name))
			}
		}
	}
	if call, ok := goja.AssertFunction(exports); ok && p.script.Function == "" {
		return call, nil
	}
	return nil, p.unfit(fmt.Sprintf("no export %s: %s", quoted(p.candidates), listed(exports)))
}

func (p *program) unfit(message string) *engines.Error {
	return invalid(engines.Location{File: p.script.Path}, message)
}

// exports runs the bundle and gives what it left in module.exports.
func (p *program) exports(i *isolate) (goja.Value, error) {
	wrapper, err := i.rt.RunProgram(p.code)
	if err != nil {
		return nil, err
	}
	run, _ := goja.AssertFunction(wrapper)
	module, exports := i.rt.NewObject(), i.rt.NewObject()
	if err := module.Set("exports", exports); err != nil {
		return nil, err
	}
	if _, err := run(goja.Undefined(), module, exports, i.rt.ToValue(i.hash)); err != nil {
		return nil, err
	}
	return module.Get("exports"), nil
}

func quoted(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(quoted, " or ")
}

func listed(exports goja.Value) string {
	o, ok := exports.(*goja.Object)
	if !ok || len(o.Keys()) == 0 {
		return "the script exports nothing by name"
	}
	return "the script exports " + strings.Join(o.Keys(), ", ")
}
