package javascript

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"

	"github.com/libretto-k8s/libretto/engines"
)

// isolate is a runtime and what the host has beside it. No call sees what another has left there.
type isolate struct {
	// hook is the function of the hook, once it is found.
	hook goja.Value
	// held are the values that the host has and that the runtime may reach in no other way.
	held    []goja.Value
	rt      *goja.Runtime
	console console
	// readClock and drewRandom are whether the script did.
	readClock, drewRandom bool
	// loading is whether modules run, and no hook.
	loading bool
	// interrupted is whether the runtime may be interrupted yet, though nothing runs.
	interrupted bool
	request     *object // made by requestView
	rounded     engines.Rounded
	report      goja.Callable // returns the variables of coverage
	missed      missed        // the last one
	files       engines.Files // are quoted in messages of tests
}

func newIsolate(now time.Time, seed string) *isolate {
	i := &isolate{rt: goja.New()}
	i.rt.SetMaxCallStackSize(maxCallDepth)
	i.rt.SetParserOptions(optionThatCalls(parser.WithDisableSourceMaps, i.rejectCode))
	i.setSources(now, seed)
	i.install()
	return i
}

// setSources sets the time and the random numbers of a call.
func (i *isolate) setSources(now time.Time, seed string) {
	i.rt.SetTimeSource(func() time.Time {
		if i.loading && i.isInPackage() {
			return time.Unix(0, 0).UTC()
		}
		i.readClock = true
		return now
	})
	random := randomFrom(seed)
	i.rt.SetRandSource(func() float64 {
		i.drewRandom = true
		return random()
	})
}

// optionThatCalls returns a parser option that calls instead. The type of options is unexported, so
// it is inferred from an example. Options are applied before parsing, and eval and all
// constructors of functions parse with those of the runtime.
func optionThatCalls[T any](_ func(T), instead func()) func(T) {
	return func(T) { instead() }
}

func (i *isolate) rejectCode() {
	panic(i.rt.NewTypeError("code can't be made from strings here: eval and the constructors of functions are disabled"))
}

// randomFrom returns the numbers of Math.random. The generator is made when first asked.
func randomFrom(seed string) goja.RandSource {
	var numbers *rand.Rand
	return func() float64 {
		if numbers == nil {
			h := fnv.New128a()
			h.Write([]byte(seed))
			sum := h.Sum(nil)
			numbers = rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:])))
		}
		return numbers.Float64()
	}
}

// install adds the two globals that the host provides.
func (i *isolate) install() {
	global := i.rt.GlobalObject()
	must(global.DefineAccessorProperty("console", i.rt.ToValue(i.lazyConsole), nil, goja.FLAG_TRUE, goja.FLAG_FALSE))
	must(global.DefineDataProperty("structuredClone", i.rt.ToValue(i.structuredClone), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	if singleThreaded {
		i.installYield()
	}
}

// must panics on errors of definitions on new objects, which no script has changed yet.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// guard runs f, which runs script code, and interrupts that when ctx ends. Every
// error that it returns is an *engines.Error.
func (i *isolate) guard(ctx context.Context, f func() (any, error)) (any, error) {
	if ctx.Err() != nil {
		return nil, engines.Ended(ctx)
	}
	stop := context.AfterFunc(ctx, func() { i.rt.Interrupt(ctx.Err()) })
	defer func() { i.interrupted = !stop() }()
	answer, err := i.protect(f)
	if err == nil {
		return answer, nil
	}
	return nil, i.failure(ctx, err)
}

// protect turns what f panics with into errors: exceptions of the script, the
// interrupt, and defects of goja, which must not end the process.
func (i *isolate) protect(f func() (any, error)) (answer any, err error) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case runtime.Error:
			answer, err = nil, fmt.Errorf("the JavaScript engine failed: %w", x)
		case error:
			answer, err = nil, x
		default:
			answer, err = nil, fmt.Errorf("the JavaScript engine failed: %v", x)
		}
	}()
	if thrown := i.rt.Try(func() { answer, err = f() }); thrown != nil {
		return nil, thrown
	}
	return answer, err
}
