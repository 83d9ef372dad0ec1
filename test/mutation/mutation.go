// Package mutation makes small faults in scripts, to see whether their tests find them.
package mutation

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Mutant is a text with one fault.
type Mutant struct {
	// Line is the line of the fault, counted from 1.
	Line int
	// Fault says what was done, and After is what the line is then.
	Fault, After string
	// Text is the whole text.
	Text string
}

// edit is a fault in a line: the line becomes after.
type edit struct{ fault, after string }

// mutator returns the faults of one kind that a line can have.
type mutator func(line string) []edit

// Of returns the mutants of the lines from first to last of a text, counted from 1. Comments, imports and declarations of types are
// left alone. No two mutants are equal, and none is equal to the text.
func Of(text string, first, last int) []Mutant { return mutantsOf(text, first, last, mutators) }

func mutantsOf(text string, first, last int, mutators []mutator) []Mutant {
	lines := strings.Split(text, "\n")
	seen := map[string]bool{text: true}
	var mutants []Mutant
	for i := first - 1; i < min(last, len(lines)); i++ {
		if !isCode(lines[i]) {
			continue
		}
		for _, mutate := range mutators {
			for _, e := range mutate(lines[i]) {
				mutated := slices.Clone(lines)
				mutated[i] = e.after
				m := Mutant{Line: i + 1, Fault: e.fault, After: strings.TrimSpace(e.after), Text: strings.Join(mutated, "\n")}
				if !seen[m.Text] {
					seen[m.Text] = true
					mutants = append(mutants, m)
				}
			}
		}
		mutants = append(mutants, swapped(lines, i)...)
	}
	return mutants
}

var notCode = regexp.MustCompile(`^(//|#|import |local \w+ = import |interface |spec: \{ \w+: string|$)`)

func isCode(line string) bool { return !notCode.MatchString(strings.TrimSpace(line)) }

// swapped returns the mutant in which a list's item changes places with the next one: ...a, and ...b, on lines of their own.
func swapped(lines []string, i int) []Mutant {
	isSpread := func(line string) bool {
		return strings.HasPrefix(strings.TrimSpace(line), "...") && strings.HasSuffix(line, ",")
	}
	if i+1 >= len(lines) || !isSpread(lines[i]) || !isSpread(lines[i+1]) {
		return nil
	}
	mutated := slices.Clone(lines)
	mutated[i], mutated[i+1] = lines[i+1], lines[i]
	return []Mutant{{Line: i + 1, Fault: "two items are swapped", After: strings.TrimSpace(lines[i+1]), Text: strings.Join(mutated, "\n")}}
}

// mutators are the faults.
var mutators = []mutator{
	replace("an equality is turned", ` (===?) `, "!=="),
	replace("an inequality is turned", ` (!==?) `, "==="),
	replace("a bound is moved", ` (<) `, "<="),
	replace("a bound is moved", ` (>=) `, ">"),
	replace("a bound is moved", ` (>) `, ">="),
	replace("a comparison is turned", ` (<) `, ">="),
	replace("a comparison is turned", ` (>=?) `, "<"),
	replace("an and is an or", ` (&&) `, "||"),
	replace("an or is an and", ` (\|\|) `, "&&"),
	replace("a default is turned", ` (\?\?) `, "&&"),
	replace("a not is forgotten", `[( ](!)[\w(]`, ""),
	replace("a choice is turned", `[( ]()\w+ \? `, "!"),
	replace("an absent field is not thought of", `\w(\?)\.`, ""),
	replace("a sum is a difference", `\w (\+) \w`, "-"),
	replace("a sum is a difference", `[')] (\+) ['\w]`, "-"),
	replace("an order is turned", `\b(a - b)\b`, "b - a"),
	replace("a sort is forgotten", `(\.sort\(\))`, ""),
	replace("a sort is forgotten", `(\.sort\(\(a, b\) => a - b\))`, ""),
	replace("a maximum is a minimum", `\b(Math\.max)\b`, "Math.min"),
	replace("a yes is a no", `[: ](true)\b`, "false"),
	replace("a no is a yes", `[: ](false)\b`, "true"),
	replace("a statement is forgotten", `^\s+([\w.]+(?:\(| = ).*;)$`, ""),
	replace("a statement is forgotten", `^\s+(throw .*;)$`, ""),
	replace("a text is another one", `"[^"'$\\]*[^"'$\\ ]()"`, "x"),
	replace("a text is another one", `'[^"'$\\]*[^"'$\\ ]()'`, "x"),
	replace("a text is another one", "[^`]()`[;,) ]", "x"),
	offByOne,
	withoutFilter,
	reversed,
	withoutEntry,
	withoutLine,
}

// replace returns a mutator that puts a text in the place of a pattern's group.
func replace(fault, pattern, by string) mutator {
	compiled := regexp.MustCompile(pattern)
	return func(line string) []edit {
		var edits []edit
		for _, at := range compiled.FindAllStringSubmatchIndex(line, -1) {
			edits = append(edits, edit{fault, line[:at[2]] + by + line[at[3]:]})
		}
		return edits
	}
}

var number = regexp.MustCompile(`(?:^|[^\w."'$-])(\d+)(?:[^\w."':]|$)`)

// offByOne makes each number larger by one.
func offByOne(line string) []edit {
	var edits []edit
	for _, at := range number.FindAllStringSubmatchIndex(line, -1) {
		n, err := strconv.Atoi(line[at[2]:at[3]])
		if err == nil {
			edits = append(edits, edit{"a number is off by one", line[:at[2]] + strconv.Itoa(n+1) + line[at[3]:]})
		}
	}
	return edits
}

// withoutFilter drops calls of filter.
func withoutFilter(line string) []edit {
	const call = ".filter("
	var edits []edit
	for from := 0; ; {
		i := strings.Index(line[from:], call)
		if i < 0 {
			return edits
		}
		i += from
		from = i + len(call)
		if end := closing(line, from-1); end > 0 {
			edits = append(edits, edit{"a filter is forgotten", line[:i] + line[end+1:]})
		}
	}
}

var answered = regexp.MustCompile(`\b(?:children|attachments|outputs): `)

// reversed turns a list of an answer that is made in one expression.
func reversed(line string) []edit {
	at := answered.FindStringIndex(line)
	if at == nil {
		return nil
	}
	end := entryEnd(line, at[1])
	value := strings.TrimRight(line[at[1]:end], " ")
	if !strings.HasSuffix(value, ")") {
		return nil
	}
	return []edit{{"a list is reversed", line[:at[1]] + value + ".toReversed()" + line[at[1]+len(value):]}}
}

// withoutEntry drops each entry of the objects that a line has from brace to brace.
func withoutEntry(line string) []edit {
	var edits []edit
	for i, c := range line {
		if c != '{' || i > 0 && line[i-1] == '$' {
			continue
		}
		end := closing(line, i)
		if end < 0 || isPattern(line[end+1:]) {
			continue
		}
		for start := i + 1; start < end; {
			stop := min(entryEnd(line, start), end)
			if strings.TrimSpace(line[start:stop]) != "" && !strings.Contains(line[start:stop], ";") {
				after := stop
				if line[stop] == ',' {
					after++
				}
				edits = append(edits, edit{"a field is dropped", line[:start] + line[after:]})
			}
			start = stop + 1
		}
	}
	return edits
}

var pattern = regexp.MustCompile(`^(?:\)? =[ >]|\)? \{|: |\)(?:: \w+)? \{|, .*\) =>|\]?\) =>)`)

// isPattern reports whether what follows a closing brace says that the braces take a value apart.
func isPattern(rest string) bool { return pattern.MatchString(rest) }

var entry = regexp.MustCompile(`^\s+(?:- )?(?:\.\.\.)?['\w.]+(?:\(.*\)|: .+)?,$`)

// yamlEntry is an entry of an answer in YAML.
var yamlEntry = regexp.MustCompile(`^\s+(?:status|data|metadata): .*[^,:]$`)

// withoutLine drops a line that is an entry of an object or of a list.
func withoutLine(line string) []edit {
	if !entry.MatchString(line) && !yamlEntry.MatchString(line) || entryEnd(line, 0) < len(line)-1 {
		return nil
	}
	return []edit{{"an entry is dropped: " + strings.TrimSpace(line), ""}}
}

// closing returns where the bracket at a position is closed, or -1. Brackets in texts are taken to be balanced.
func closing(line string, open int) int {
	depth := 0
	for i := open; i < len(line); i++ {
		switch line[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// entryEnd returns where the entry that begins at a position ends: at a comma, at a closing bracket or at the end of the line. What is
// in quotes is skipped.
func entryEnd(line string, start int) int {
	depth, quote := 0, byte(0)
	for i := start; i < len(line); i++ {
		switch c := line[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'' || c == '`':
			quote = c
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			if depth--; depth < 0 {
				return i
			}
		case c == ',' && depth == 0:
			return i
		}
	}
	return len(line)
}
