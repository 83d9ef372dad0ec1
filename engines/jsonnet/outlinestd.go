package jsonnet

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	vm "github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/authoring"
	"github.com/libretto-k8s/libretto/runtime/values/spelling"
)

// loops are functions of std that call their first argument with the elements of their second, with what they return.
var loops = map[string]string{
	"map": "map", "filter": "filter", "flatMap": "flatMap", "$flatMapArray": "flatMap", "foldl": "fold", "mapWithIndex": "fold",
	"mapWithKey": "fold",
}

// results are the types of what functions of std return.
var results = map[string]string{
	"length": "number", "count": "number", "parseInt": "number", "floor": "number", "ceil": "number", "max": "number", "min": "number",
	"abs": "number", "toString": "string", "join": "string", "strReplace": "string", "format": "string", "asciiLower": "string",
	"asciiUpper": "string", "substr": "string", "manifestJson": "string", "manifestJsonEx": "string", "manifestYamlDoc": "string",
	"manifestJsonMinified": "string", "base64": "string", "md5": "string", "startsWith": "boolean", "endsWith": "boolean",
	"isObject": "boolean", "isString": "boolean", "isArray": "boolean", "member": "boolean",
}

// apply returns the step of a call.
func (o *outliner) apply(n *ast.Apply) *engines.OutlineStep {
	var arguments []ast.Node
	for _, a := range n.Arguments.Positional {
		arguments = append(arguments, a.Expr)
	}
	if target, ok := n.Target.(*ast.Index); ok && len(n.Arguments.Named) == 0 {
		if name := stdField(target, o.shadowed); name != "" {
			o.index(target) // It notes a function that there is not.
			return o.standard(name, n, arguments)
		}
	}
	call := o.step(engines.OutlineCall, "", o.values(append([]ast.Node{n.Target}, arguments...)...)...)
	for _, a := range n.Arguments.Named {
		call.Parts = append(call.Parts, o.step(engines.OutlineField, string(a.Name), o.value(a.Arg)))
	}
	return call
}

// standard returns the step of a call of std.
func (o *outliner) standard(name string, n *ast.Apply, arguments []ast.Node) *engines.OutlineStep {
	all := o.values(arguments...)
	if how, ok := loops[name]; ok && len(all) > 1 {
		return engines.OutlineEach(how, all[1], all[0], all[2:]...)
	}
	if kind, ok := results[name]; ok {
		return o.step(engines.OutlineIs, kind, all...)
	}
	switch {
	case len(all) == 0:
	case name == "objectValues" || name == "objectValuesAll":
		return o.step(engines.OutlineList, "", o.step(engines.OutlineElement, "", all...))
	case name == "objectFields" || name == "objectFieldsAll":
		return o.step(engines.OutlineList, "", o.step(engines.OutlineIs, "string", all...))
	case name == "objectKeysValues":
		return o.step(engines.OutlineList, "", o.step(engines.OutlineObject, "",
			o.step(engines.OutlineField, "key", o.step(engines.OutlineIs, "string")),
			o.step(engines.OutlineField, "value", o.step(engines.OutlineElement, "", all[0]))))
	case name == "prune" || name == "reverse" || len(all) == 1 && (name == "sort" || name == "set" || name == "uniq"):
		return all[0]
	case len(all) == 1:
	case name == "sort" || name == "set" || name == "uniq":
		return engines.OutlineEach("filter", all[0], all[1])
	case name == "equals" || name == "notEquals":
		return o.placed(arguments[1], engines.OutlineStrict, "", all...)
	case name == "get", name == "objectHas", name == "objectHasAll", name == "objectHasEx":
		return o.named(name, arguments, all)
	case name == "mergePatch":
		return o.placed(n, engines.OutlineMerge, "", all...)
	case name == "trace":
		return o.step(engines.OutlineSame, "", all[1], all[0])
	}
	return o.step(engines.OutlineUnknown, "", all...)
}

// named returns the step of a call of std with an object and the name of a field.
func (o *outliner) named(name string, arguments []ast.Node, all []*engines.OutlineStep) *engines.OutlineStep {
	field, ok := arguments[1].(*ast.LiteralString)
	if !ok {
		return o.step(engines.OutlineUnknown, "", all...)
	}
	member := o.placed(field, engines.OutlineMember, field.Value, all[0])
	switch {
	case name != "get":
		return o.step(engines.OutlineIs, "boolean", member)
	case len(all) > 2:
		return o.step(engines.OutlineChoice, "", member, all[2])
	}
	return member
}

// stdNames are the fields of std.
var stdNames = sync.OnceValue(func() []string {
	var names []string
	if all, err := vm.MakeVM().EvaluateAnonymousSnippet("std", "std.objectFieldsAll(std)"); err == nil {
		_ = json.Unmarshal([]byte(all), &names) // It is a list of texts.
	}
	return append(names, "thisFile")
})

// moduleIn returns what a file calls the host's module, or "" if that name stands for itself anywhere but where it is bound.
func moduleIn(text string) string {
	bound := ownModule.FindStringSubmatch(text)
	if bound == nil {
		return ""
	}
	alone := regexp.MustCompile(`\b` + regexp.QuoteMeta(bound[1]) + `\s*(?:[^\w\s.]|$)`)
	quoted := regexp.MustCompile(`['"]` + regexp.QuoteMeta(bound[1]) + `(?:\.libsonnet)?['"]`)
	if len(alone.FindAllString(quoted.ReplaceAllString(text, ""), -1)) != 1 {
		return ""
	}
	return bound[1]
}

// checkMember notes a field that std or the host's module does not have. A file that looks into std may have asked whether it is there.
func (o *outliner) checkMember(n *ast.Index, name string, at engines.Location) {
	target, ok := n.Target.(*ast.Var)
	if !ok || at.Line == 0 || strings.HasPrefix(at.File, "<") {
		return
	}
	var known []string
	where := "the documentation of Jsonnet's standard library has its functions"
	switch {
	case target.Id == "std" && !o.shadowed && !slices.ContainsFunc(o.lines, asksStd.MatchString):
		known = stdNames()
	case string(target.Id) == o.module:
		known, where = authoring.Names(), "docs/reference/library.md has its functions"
	}
	if known != nil && !slices.Contains(known, name) {
		advice := cmp.Or(spelling.Meant(name, known), where)
		o.missing = append(o.missing, engines.InvalidError(at, "%s.%s: there is no such function: %s", target.Id, name, advice))
	}
}

// asksStd matches what looks into std as an object.
var asksStd = regexp.MustCompile(`\bstd\s*(?:,|\)|$)|\bin\s+std\b`)
