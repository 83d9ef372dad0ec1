//go:build linux

package hostile

import "strings"

// nested is a source in which something is repeated more often than a parser should
// recurse, and yet small enough to be loaded.
type nested struct {
	language, name              string
	before, open, middle, close string
	after                       string
	times                       int
}

// nests are the attacks of the class nesting.
var nests = []nested{
	{"JavaScript", "parentheses.js", "export const sync = ", "(", "1", ")", "", 400_000},
	{"JavaScript", "arrays.js", "export const sync = ", "[", "", "]", "", 400_000},
	{"JavaScript", "objects.js", "export const sync = ", "{a:", "1", "}", "", 200_000},
	{"JavaScript", "templates.js", "export const sync = ", "`${", "1", "}`", "", 200_000},
	{"JavaScript", "nots.js", "export const sync = ", "!", "1", "", "", 900_000},
	{"JavaScript", "minuses.js", "export const sync = ", "- ", "1", "", "", 450_000},
	{"JavaScript", "arrows.js", "export const sync = ", "a=>", "1", "", "", 300_000},
	{"JavaScript", "functions.js", "export const sync = ", "function(){return ", "1", "}", "", 50_000},
	{"JavaScript", "blocks.js", "export function sync() {", "{", "", "}", "}", 400_000},
	{"JavaScript", "ifs.js", "export function sync() {", "if(1)", ";", "", "}", 180_000},
	{"JavaScript", "labels.js", "export function sync() {", "a:", ";", "", "}", 400_000},
	{"JavaScript", "conditionals.js", "export const sync = ", "1?", "1", ":1", "", 250_000},
	{"JavaScript", "sum.js", "export const sync = ", "1+", "1", "", "", 450_000},
	{"JavaScript", "power.js", "export const sync = ", "1**", "1", "", "", 300_000},
	{"JavaScript", "members.js", "export const sync = a", ".a", "", "", "", 450_000},
	{"JavaScript", "calls.js", "export const sync = a", "()", "", "", "", 450_000},
	{"JavaScript", "optional.js", "export const sync = a", "?.a", "", "", "", 300_000},
	{"JavaScript", "news.js", "export const sync = ", "new ", "a", "", "", 220_000},
	{"JavaScript", "awaits.js", "export async function sync() { return ", "await ", "1", "", "}", 150_000},
	{"JavaScript", "classes.js", "export const sync = ", "class extends ", "Object", "{}", "", 60_000},
	{"JavaScript", "patterns.js", "export const ", "[", "sync", "]", "=1", 400_000},
	{"JavaScript", "commas.js", "export const sync = (", "1,", "1", "", ")", 450_000},
	{"JavaScript", "assignments.js", "let a; export const sync = ", "a=", "1", "", "", 450_000},
	{"JavaScript", "regex.js", "export const sync = /", "(", "a", ")", "/", 400_000},
	{"JavaScript", "types.ts", "let x: ", "A<", "string", ">", "; export const sync = 1", 300_000},
	{"JavaScript", "type-tuples.ts", "let x: ", "[", "string", "]", "; export const sync = 1", 400_000},
	{"JavaScript", "type-conditions.ts", "type X = ", "A extends B ? C : ", "D", "", "; export const sync = 1", 50_000},
	{"JavaScript", "casts.ts", "export const sync = ", "<any>", "1", "", "", 180_000},
	{"JavaScript", "namespaces.ts", "", "namespace a{", "", "}", "export const sync = 1", 60_000},
	{"Jsonnet", "parentheses.jsonnet", "", "(", "1", ")", "", 400_000},
	{"Jsonnet", "arrays.jsonnet", "function(request) ", "[", "", "]", "", 400_000},
	{"Jsonnet", "objects.jsonnet", "function(request) ", "{a:", "1", "}", "", 200_000},
	{"Jsonnet", "nots.jsonnet", "function(request) ", "!", "true", "", "", 900_000},
	{"Jsonnet", "sum.jsonnet", "function(request) ", "1+", "1", "", "", 450_000},
	{"Jsonnet", "locals.jsonnet", "function(request) ", "local a=1;", "1", "", "", 90_000},
	{"Jsonnet", "functions.jsonnet", "", "function(a)", "1", "", "", 90_000},
	{"Jsonnet", "ifs.jsonnet", "function(request) ", "if true then ", "1", "", "", 70_000},
	{"Jsonnet", "members.jsonnet", "function(request) request", ".a", "", "", "", 450_000},
	{"Jsonnet", "objects-plus.jsonnet", "function(request) {}", "{}", "", "", "", 450_000},
	{"Jsonnet", "comprehension.jsonnet", "function(request) [1 ", "for a in [1] ", "", "", "]", 70_000},
	{"Jsonnet", "asserts.jsonnet", "function(request) ", "assert true;", "1", "", "", 80_000},
	{"CEL", "parentheses.cel", "", "(", "1", ")", "", 45_000},
	{"CEL", "lists.cel", "", "[", "1", "]", "", 45_000},
	{"CEL", "maps.cel", "", "{1:", "1", "}", "", 24_000},
	{"CEL", "nots.cel", "", "!", "true", "", "", 90_000},
	{"CEL", "minuses.cel", "", "- ", "1", "", "", 45_000},
	{"CEL", "sum.cel", "", "1+", "1", "", "", 45_000},
	{"CEL", "ors.cel", "", "a||", "true", "", "", 30_000},
	{"CEL", "conditionals.cel", "", "true?1:", "1", "", "", 14_000},
	{"CEL", "members.cel", "parent", ".a", "", "", "", 45_000},
	{"CEL", "index.cel", "parent", "[0]", "", "", "", 30_000},
	{"CEL", "macros.cel", "", "[1].map(a,", "1", ")", "", 9_000},
	{"CEL", "flow.cel.yaml", "response: ", "[", "", "]", "", 400_000},
	{"CEL", "flow-maps.cel.yaml", "response: ", "{a: ", "1", "}", "", 200_000},
	{"CEL", "block.cel.yaml", "response:\n  ", "- ", "1", "", "", 400_000},
	{"CEL", "question.cel.yaml", "response:\n  ", "? ", "1", "", "", 400_000},
	{"CEL", "holes.cel.yaml", "response: \"", "${", "1", "}", "\"", 200_000},
}

// deep makes them, and what else is too large for an archive.
func deep() []attack {
	var all []attack
	for _, n := range nests {
		text := n.before + strings.Repeat(n.open, n.times) + n.middle + strings.Repeat(n.close, n.times) + n.after
		all = append(all, one(n.language, "nesting-"+n.name, text))
	}
	json := strings.Repeat("[", 400_000) + strings.Repeat("]", 400_000)
	return append(all,
		attack{language: "JavaScript", name: "nesting-json", files: map[string]string{"sync.js": `import x from "./x.json"; export const sync = () => x`, "x.json": json}},
		attack{language: "Jsonnet", name: "nesting-import", files: map[string]string{"sync.jsonnet": `function(request) import "x.libsonnet"`, "x.libsonnet": json}},
		one("JavaScript", "memory-source.js", "export const sync = () => '"+strings.Repeat("x", 2<<20)+"'"),
		one("JavaScript", "memory-lines.js", "export const sync = () => {}"+strings.Repeat("\n", 900_000)),
		one("JavaScript", "memory-declarations.js", "export const sync = () => {};"+strings.Repeat("var a={a};", 90_000)),
		one("JavaScript", "memory-strings.js", "export const sync = () => ["+strings.Repeat(`"a",`, 200_000)+"]"),
		one("Jsonnet", "memory-fields.jsonnet", "function(request) {"+strings.Repeat("['a'+1]:1,", 90_000)+"}"),
		one("CEL", "memory-elements.cel", "{'x': ["+strings.Repeat("1,", 45_000)+"1]}"),
		one("CEL", "memory-variables.cel.yaml", "variables:\n"+strings.Repeat("- {name: a, expression: \"1\"}\n", 30_000)+"response: {}"),
		one("CEL", "memory-holes.cel.yaml", "response:\n"+strings.Repeat("- \"${parent}\"\n", 60_000)),
		one("CEL", "answer-merge.cel.yaml", "response:\n  a: &a {x: 1}\n  b: {<<: ["+strings.Repeat("*a,", 200_000)+"*a]}"),
	)
}

func one(language, name, text string) attack {
	return attack{language: language, name: name, files: map[string]string{name: text}}
}
