// Package mutation makes small faults in scripts, to see whether their tests find them.
package mutation

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Mutant is a text with one fault.
type Mutant struct {
	// Line is the line of the fault, counted from 1.
	Line int
	// Fault says what was changed.
	Fault string
	// Text is the whole text.
	Text string
}

// rule is a fault that is put wherever its pattern matches.
type rule struct {
	name        string
	pattern     *regexp.Regexp
	replacement string
}

// rules are the faults. The first group of a pattern is what is replaced.
var rules = []rule{
	{"an equality is turned", regexp.MustCompile(`(===)`), "!=="},
	{"an inequality is turned", regexp.MustCompile(`(!==)`), "==="},
	{"a bound is moved", regexp.MustCompile(`[\w.)\]] (<) `), "<="},
	{"a bound is moved", regexp.MustCompile(`[\w.)\]] (>=) `), ">"},
	{"an and is an or", regexp.MustCompile(` (&&) `), "||"},
	{"an or is an and", regexp.MustCompile(` (\|\|) `), "&&"},
	{"a not is forgotten", regexp.MustCompile(`[( ](!)[\w(]`), ""},
	{"a choice is turned", regexp.MustCompile(` (\?) `), "? false &&"},
	{"a sum is a difference", regexp.MustCompile(`[\w)] (\+) [\w(]`), "-"},
	{"a difference is turned", regexp.MustCompile(`\b(a - b)\b`), "b - a"},
	{"a sort is forgotten", regexp.MustCompile(`(\.sort\(\))`), ".reverse()"},
	{"a filter is forgotten", regexp.MustCompile(`(\.filter\()`), ".filter((x) => true || "},
	{"a flag is turned", regexp.MustCompile(`: (true)\b`), "false"},
	{"a list is reversed", regexp.MustCompile(`(?:children|attachments|outputs): (\[)`), "[...[].reverse(), "},
	{"a maximum is a minimum", regexp.MustCompile(`\b(Math\.max)\b`), "Math.min"},
	{"a number is off by one", regexp.MustCompile(`(?:= |\? | )(0)(?:;|,| )`), "1"},
	{"a field is dropped", regexp.MustCompile(`^\s+((?:status|\w+): [^\[{(]*[^\[{(,],)$`), ""},
	{"a field is dropped", regexp.MustCompile(`^\s+(\.\.\.\w[^\[{]*,)$`), ""},
	{"a field is dropped", regexp.MustCompile(`\{ ([\w]+: [^,{}\[\]]+,) `), ""},
}

// Of returns the mutants of the lines from first to last of a text, counted from 1: one for each place that a rule matches. Comments are left alone.
func Of(text string, first, last int) []Mutant {
	lines := strings.Split(text, "\n")
	var mutants []Mutant
	for i := first - 1; i < min(last, len(lines)); i++ {
		line := lines[i]
		if code := strings.TrimSpace(line); strings.HasPrefix(code, "//") || strings.HasPrefix(code, "import ") || strings.HasPrefix(code, "#") {
			continue
		}
		for _, r := range rules {
			for _, at := range r.pattern.FindAllStringSubmatchIndex(line, -1) {
				mutated := slices.Clone(lines)
				mutated[i] = line[:at[2]] + r.replacement + line[at[3]:]
				mutants = append(mutants, Mutant{
					Line: i + 1, Text: strings.Join(mutated, "\n"),
					Fault: fmt.Sprintf("%s: %s", r.name, strings.TrimSpace(mutated[i])),
				})
			}
		}
	}
	return mutants
}
