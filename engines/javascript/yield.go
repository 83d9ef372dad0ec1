package javascript

import (
	"runtime"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
)

// singleThreaded is whether no timer runs while a script does, so that none could interrupt it: in a browser.
const singleThreaded = runtime.GOOS == "js"

// yieldName is a global function that lets others run. No script can write its name.
const yieldName = "%yield"

// yieldInLoops has each turn of a loop call that function. The rest of what can take without end, such as functions that call themselves
// twice, is not stopped by it.
func yieldInLoops(parsed *ast.Program) {
	_ = eachNode(parsed, func(node any) error { // It returns no error.
		if body := loopBody(node); body != nil {
			yield := &ast.ExpressionStatement{Expression: &ast.CallExpression{Callee: identifier(yieldName, 0)}}
			*body = &ast.BlockStatement{List: []ast.Statement{yield, *body}}
		}
		return nil
	})
}

// loopBody returns where a loop has its body, or nil for another node.
func loopBody(node any) *ast.Statement {
	switch n := node.(type) {
	case *ast.ForStatement:
		return &n.Body
	case *ast.ForInStatement:
		return &n.Body
	case *ast.ForOfStatement:
		return &n.Body
	case *ast.WhileStatement:
		return &n.Body
	case *ast.DoWhileStatement:
		return &n.Body
	}
	return nil
}

// installYield adds the function, which lets others run once in a thousand calls.
func (i *isolate) installYield() {
	calls := 0
	yield := func(goja.FunctionCall) goja.Value {
		if calls++; calls%1000 == 0 {
			runtime.Gosched()
		}
		return goja.Undefined()
	}
	must(i.rt.GlobalObject().DefineDataProperty(yieldName, i.rt.ToValue(yield), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE))
}
