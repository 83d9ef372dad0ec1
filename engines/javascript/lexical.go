package javascript

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/token"

	"github.com/libretto-k8s/libretto/engines/authoring"
)

// lexical matches what begins with a declaration that can't be read before it has run. A const enum of TypeScript can.
var lexical = regexp.MustCompile(`^(?:export\s+)?(?:const|let|class|abstract|default)\s+(\w*)`)

// parameter matches a name of the bundle's function, which can't be declared again.
var parameter = regexp.MustCompile(`\b(?:module|exports|` + authoring.CallName + `|` + authoring.StackName + `)\b`)

// declareLexically has what reads a constant, a variable or a class of the author's modules before that is set throw, as the language has
// it. esbuild makes a var of each at the top of a module, which is undefined until then.
func (b *bundledTree) declareLexically(parsed *ast.Program) {
	wrapper, place := parsed.Body[0].(*ast.ExpressionStatement).Expression.(*ast.FunctionLiteral), b.placer(parsed.File)
	isParameter := func(d *ast.Binding) bool {
		from, to := int(d.Target.Idx0())-parsed.File.Base(), int(d.Target.Idx1())-parsed.File.Base()
		return parameter.MatchString(b.code[from:min(to, len(b.code))])
	}
	lines, changed := map[string][]string{}, map[file.Idx]bool{}
	for n, s := range wrapper.Body.List {
		v, ok := s.(*ast.VariableStatement)
		if !ok || slices.ContainsFunc(v.List, isParameter) {
			continue
		}
		at, written := place(v)
		if lines[at.File] == nil {
			lines[at.File] = strings.Split(b.tree.Files[at.File], "\n")
		}
		if !written || !isOwn(at.File) || at.Line > len(lines[at.File]) {
			continue
		}
		line := lines[at.File][at.Line-1]
		if found := lexical.FindStringSubmatch(line[min(at.Column-1, len(line)):]); found != nil && found[1] != "enum" {
			wrapper.Body.List[n], changed[v.Var] = &ast.LexicalDeclaration{Idx: v.Var, Token: token.LET, List: v.List}, true
		}
	}
	wrapper.DeclarationList = slices.DeleteFunc(wrapper.DeclarationList, func(d *ast.VariableDeclaration) bool { return changed[d.Var] })
}

// unset is what goja says about a read of what is not set yet.
const unset = "ReferenceError: Cannot access a variable before initialization"

// unsetAdvice returns what to do about such a read in a file.
func (t tree) unsetAdvice(name string) string {
	around := t.reached(name)
	maps.DeleteFunc(around, func(other string, _ bool) bool { return !t.reached(other)[name] })
	if len(around) == 0 {
		return "declare it further up"
	}
	return strings.Join(slices.Sorted(maps.Keys(around)), ", ") + " import each other: move what they share into a file without such imports"
}

// reached returns what a file imports, and what that imports.
func (t tree) reached(name string) map[string]bool {
	all := map[string]bool{}
	for before := -1; before < len(all); {
		before = len(all)
		t.imports.Range(func(key, _ any) bool {
			if edge := key.([2]string); edge[0] == name || all[edge[0]] {
				all[edge[1]] = true
			}
			return true
		})
	}
	return all
}
