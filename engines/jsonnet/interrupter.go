package jsonnet

import (
	"reflect"
	"sync/atomic"
	"unsafe"

	vm "github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"
)

// interrupter stops an evaluation from within, and counts what is evaluated. go-jsonnet has no way to be stopped, but
// it calls a hook before and after it evaluates an expression, and turns a panic
// there into an error. The hook's fields are unexported, so that they are set
// through unsafe, if hasEvalHooks reports that they have the expected layout. What
// it can't stop is a single built-in function: the hooks are not called within one.
type interrupter struct {
	stopped atomic.Bool
	// depth is how many evaluations wait for each other, and so take of Go's
	// stack. Only the evaluating goroutine uses it.
	depth int
	// tooDeep is true if the evaluation was stopped for its depth.
	tooDeep bool
	// counts holds how often expressions were evaluated, or is nil.
	counts *counts
}

// stop ends the evaluation soon. It may be called from any goroutine.
func (b *interrupter) stop() { b.stopped.Store(true) }

// preHook and postHook are the hook's functions, with pointers and interfaces for
// what is unexported: a function's arguments are passed alike, whatever they point to.
type (
	preHook  func(interpreter unsafe.Pointer, node ast.Node)
	postHook func(interpreter unsafe.Pointer, node ast.Node, value anyValue, err error)
	anyValue interface{ aMethod() }
)

// install sets the hooks of a VM, of which hookable must hold.
func (b *interrupter) install(m *vm.VM) {
	hooks := unsafe.Pointer(&m.EvalHook)
	*(*preHook)(hooks) = b.before
	*(*postHook)(unsafe.Add(hooks, hookType.Field(1).Offset)) = b.after
}

func (b *interrupter) before(_ unsafe.Pointer, node ast.Node) {
	if b.depth++; b.depth > maxEvaluations {
		b.tooDeep = true
		panic("nested too deep")
	}
	if b.stopped.Load() {
		panic("stopped")
	}
	if b.counts != nil {
		b.counts.before(node)
	}
}

func (b *interrupter) after(_ unsafe.Pointer, node ast.Node, _ anyValue, err error) {
	b.depth--
	if b.counts != nil {
		b.counts.after(node, err)
	}
}

var hookType = reflect.TypeFor[vm.EvalHook]()

// hasEvalHooks reports whether this version of go-jsonnet has the hooks that install sets.
// If it does not, calls run to their end, unless the process is killed.
func hasEvalHooks() bool { return hasHookLayout(hookType) }

func hasHookLayout(hook reflect.Type) bool {
	if hook.Kind() != reflect.Struct || hook.NumField() != 2 {
		return false
	}
	node, failure := reflect.TypeFor[ast.Node](), reflect.TypeFor[error]()
	pre, post := hook.Field(0), hook.Field(1)
	return pre.Name == "pre" && pre.Offset == 0 && hasParameters(pre.Type, nil, node) &&
		post.Name == "post" && hasParameters(post.Type, nil, node, nil, failure) && hasMethods(post.Type.In(2))
}

// hasParameters reports whether a function has these parameters and no result. The first is a
// pointer, and nil stands for a type that has no name here.
func hasParameters(function reflect.Type, parameters ...reflect.Type) bool {
	if function.Kind() != reflect.Func || function.NumIn() != len(parameters) || function.NumOut() != 0 || function.IsVariadic() {
		return false
	}
	for i, want := range parameters {
		if want != nil && function.In(i) != want {
			return false
		}
	}
	return function.In(0).Kind() == reflect.Pointer
}

// hasMethods reports whether a type is an interface with methods, which is passed
// otherwise than one without.
func hasMethods(t reflect.Type) bool { return t.Kind() == reflect.Interface && t.NumMethod() > 0 }
