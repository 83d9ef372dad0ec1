package cel

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/spelling"
)

var (
	undeclared  = regexp.MustCompile(`^undeclared reference to '([^']+)'`)
	noOverload  = regexp.MustCompile(`^found no matching overload for '([^']+)' applied to '(.*)'`)
	noKey       = regexp.MustCompile(`^no such key: (.*)$`)
	noWay       = regexp.MustCompile(`^Syntax error: (?:no viable alternative at|extraneous|mismatched) input (.*)$`)
	plainField  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	noToken     = regexp.MustCompile(`^Syntax error: token recognition error at: '(=+) *'`)
	withClock   = []string{"now", "timestamp.now", "today"}
	anotherType = "convert one of them, as in string(x), int(x) or double(x)"
)

// foreignWords are operators and functions of other languages, in small letters, with what CEL has.
var foreignWords = map[string]string{
	"and": "&&", "or": "||", "not": "!", "if": "x ? y : z", "upper": "upperAscii()", "toupper": "upperAscii()", "touppercase": "upperAscii()",
	"lower": "lowerAscii()", "tolower": "lowerAscii()", "tolowercase": "lowerAscii()", "length": "size()", "len": "size()",
	"includes": "contains()", "tostring": "string(x)", "str": "string(x)", "parseint": "int(x)", "number": "int(x)",
}

// advised returns the message of a failure with what to do. cel-go says neither which operator met values of wrong types, nor how a field
// is read that may be missing, nor of which map a key is missing: the names of the request are looked at.
func (x *expression) advised(err error, request map[string]any) string {
	message := err.Error()
	if key := noKey.FindStringSubmatch(message); key != nil {
		if meant := engines.MissingField(key[1], engines.FieldNames(request)); meant != "" {
			return message + ": " + meant
		}
		access := ".?" + key[1]
		if !plainField.MatchString(key[1]) {
			access = fmt.Sprintf("[?'%s']", key[1])
		}
		return fmt.Sprintf("%s: if it may be missing, write x%s.orValue(DEFAULT)", message, access)
	}
	if called, ok := strings.CutPrefix(message, "no such overload: "); ok && plainField.MatchString(called) {
		return "no such overload: " + called + " is given a value of a type that it does not take"
	}
	if message != "no such overload" {
		return message
	}
	switch name := x.functionOf(err); name {
	case "":
		return message + ": a value has another type than the expression needs"
	case operators.Conditional, operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot:
		return message + ": a condition is true or false: compare the value, as in x != '', or ask has(x)"
	default:
		if operator, ok := operators.FindReverse(name); ok && operator != "" {
			return fmt.Sprintf("%s: the values around %s are of types that do not go together: %s", message, operator, anotherType)
		}
		return fmt.Sprintf("%s: %s is given a value of a type that it does not take", message, name)
	}
}

// functionOf returns the function or the operator whose call failed, or "".
func (x *expression) functionOf(err error) string {
	var id int64
	for ; err != nil; err = errors.Unwrap(err) {
		if e, ok := err.(*types.Err); ok && e.NodeID() != 0 {
			id = e.NodeID()
		}
	}
	name := ""
	ast.PostOrderVisit(x.ast.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.ID() == id && e.Kind() == ast.CallKind {
			name = e.AsCall().FunctionName()
		}
	}))
	return name
}

// explain adds to a message of CEL how to correct the expression. called reports whether what it is about is called.
func (c *compilation) explain(message string, called bool) string {
	message = strings.ReplaceAll(message, " (in container '')", "")
	message, _, _ = strings.Cut(message, " expecting {")
	if found := noOverload.FindStringSubmatch(message); found != nil {
		return message + cmp.Or(overloadAdvice(found[1], found[2]), c.overloadsOf(found[1]))
	}
	if found := noWay.FindStringSubmatch(message); found != nil {
		return syntaxAdvice(found[1])
	}
	if found := noToken.FindStringSubmatch(message); found != nil {
		return fmt.Sprintf("Syntax error at '%s': values are compared with == and !=, and nothing is assigned", found[1])
	}
	found := undeclared.FindStringSubmatch(message)
	switch {
	case found == nil:
		return message
	case found[1] == "variables":
		return "no such variable: " + c.knownVariables()
	case slices.Contains(fieldsOf(""), found[1]):
		return fmt.Sprintf("%s: requests to the hook %s have %s", message, c.src.Hook, strings.Join(c.fields, ", "))
	case slices.Contains(withClock, found[1]):
		return message + ": expressions have no clock"
	}
	meant := cmp.Or(spelling.Meant(found[1], slices.Concat(c.fields, c.functions())), spelling.List(c.functionsBelow(found[1])))
	switch foreign := foreignWords[strings.ToLower(found[1])]; {
	case meant != "":
	case foreign != "":
		meant = "write " + foreign
	case called:
		meant = "there is no such function"
	case len(c.problems) == 0 && len(c.fields) > 0: // Once is enough.
		meant = "requests have, by the kind of definition, " + strings.Join(c.fields, ", ")
	}
	if meant == "" {
		return message
	}
	return message + ": " + meant
}

// syntaxAdvice returns the message about what the parser did not expect, in quotes and with what it did.
func syntaxAdvice(at string) string {
	at, _, _ = strings.Cut(at, " expecting ")
	if foreign := foreignWords[strings.Trim(at, "'")]; foreign != "" {
		return fmt.Sprintf("Syntax error at %s: write %s", at, foreign)
	}
	return fmt.Sprintf("Syntax error at %s: the expression is not complete, or a quote or a bracket is missing", at)
}

// functionsBelow returns the names of the functions that begin with a name and a dot.
func (c *compilation) functionsBelow(name string) (names []string) {
	for function := range c.env.Functions() {
		if strings.HasPrefix(function, name+".") {
			names = append(names, function)
		}
	}
	return names
}

// overloadsOf returns what a function takes, or "". It begins with a colon.
func (c *compilation) overloadsOf(name string) string {
	function := c.env.Functions()[name]
	if function == nil || !plainField.MatchString(name) {
		return ""
	}
	var forms []string
	for _, overload := range function.OverloadDecls() {
		var arguments []string
		for _, argument := range overload.ArgTypes() {
			arguments = append(arguments, cel.FormatCELType(argument))
		}
		form := fmt.Sprintf("%s(%s)", name, strings.Join(arguments, ", "))
		if overload.IsMemberFunction() {
			form = fmt.Sprintf("%s.%s(%s)", arguments[0], name, strings.Join(arguments[1:], ", "))
		}
		forms = append(forms, form)
	}
	if len(forms) == 0 {
		return ""
	}
	return ": " + spelling.List(forms)
}

// functions returns the names of the functions that are declared.
func (c *compilation) functions() []string {
	var names []string
	for name := range c.env.Functions() {
		if plainField.MatchString(name) && !strings.HasPrefix(name, "_") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// overloadAdvice says what to do about types that are known not to fit.
func overloadAdvice(function, arguments string) string {
	const legend = " (dyn(x) stands for x of any type)"
	left, right, _ := strings.Cut(strings.Trim(arguments, "()"), ", ")
	switch {
	case function == operators.Conditional && strings.Contains(arguments, "optional_type"):
		return ": both sides of : are an optional, as in x ? optional.of(y) : optional.none(), or neither is"
	case function == operators.Conditional && strings.HasPrefix(arguments, "(bool"):
		return ": both sides of : must have one type: wrap them into dyn()" + legend
	case function == operators.Conditional, function == operators.LogicalNot:
		return ": a condition is true or false: compare the value, as in x != ''"
	case function == operators.Index && strings.HasPrefix(left, "list"):
		return ": an element of a list is read by its number, as in x[0]"
	case function == operators.In:
		return ": in looks into a list or a map: a text is searched with x.contains('part')"
	case !strings.HasPrefix(function, "_"):
		return ""
	case !isPlain(left) || !isPlain(right) || left == right:
		return legend
	case function == operators.Add && (left == "string" || right == "string"):
		return fmt.Sprintf(": make the %s a text: string(x)", otherThan("string", left, right))
	case slices.Contains([]string{left, right}, "string") || slices.Contains([]string{left, right}, "bool"):
		return ": " + anotherType
	case left == "double" || right == "double":
		return fmt.Sprintf(": make the %s a double: double(x)", otherThan("double", left, right))
	}
	return ": make the uint an int: int(x)"
}

// isPlain reports whether a type is that of a single value which can be converted.
func isPlain(name string) bool {
	return slices.Contains([]string{"string", "int", "uint", "double", "bool"}, name)
}

// otherThan returns the one of two types that is not name.
func otherThan(name, left, right string) string {
	if left == name {
		return right
	}
	return left
}
