package mutation

import (
	"regexp"
	"strings"
)

// OfJsonnet returns the mutants of a text in Jsonnet, as Of does.
func OfJsonnet(text string) []Mutant {
	lines := 1 + strings.Count(text, "\n")
	return mutantsOf(text, 1, lines, jsonnetMutators)
}

// jsonnetMutators are the faults of Jsonnet.
var jsonnetMutators = []mutator{
	replace("an equality is turned", ` (==) `, "!="),
	replace("an inequality is turned", ` (!=) `, "=="),
	replace("a bound is moved", ` (<) `, "<="),
	replace("a bound is moved", ` (>=) `, ">"),
	replace("a bound is moved", ` (<=) `, "<"),
	replace("a bound is moved", ` (>) `, ">="),
	replace("an and is an or", ` (&&) `, "||"),
	replace("an or is an and", ` (\|\|) `, "&&"),
	replace("a not is forgotten", `[( ](!)[\w(]`, ""),
	replace("a sum is a difference", ` (\+) \d`, "-"),
	replace("a difference is a sum", ` (-) \d`, "+"),
	replace("a maximum is a minimum", `\b(std\.max)\(`, "std.min"),
	replace("a minimum is a maximum", `\b(std\.minArray)\(`, "std.maxArray"),
	replace("an any is an all", `\b(std\.any)\(`, "std.all"),
	replace("an all is an any", `\b(std\.all)\(`, "std.any"),
	replace("an order is turned", `\b(std\.reverse)\(`, "("),
	replace("a sort is forgotten", `\b(std\.sort)\(`, "("),
	replace("a merge is forgotten", `\w(\+):`, ""),
	replace("a yes is a no", `[ (](true)\b`, "false"),
	replace("a no is a yes", `[ (](false)\b`, "true"),
	replace("a text is another one", `'[^"'$\\]*[^"'$\\ ]()'`, "x"),
	replace("a filter is forgotten", ` in [^\]]+?( if [^\]]+)\]`, ""),
	replace("a filter is forgotten", `^\s+(if .*[^:,;])$`, ""),
	offByOne,
	turnedChoice,
	withoutEntry,
	withoutLine,
}

var choice = regexp.MustCompile(`\bif (.+?) then\b`)

// turnedChoice turns the condition of each choice.
func turnedChoice(line string) []edit {
	var edits []edit
	for _, at := range choice.FindAllStringSubmatchIndex(line, -1) {
		edits = append(edits, edit{"a choice is turned", line[:at[2]] + "!(" + line[at[2]:at[3]] + ")" + line[at[3]:]})
	}
	return edits
}
