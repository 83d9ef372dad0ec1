package cel

// part is a piece of a text with holes: words as they are, or the code of a hole.
type part struct {
	literal string
	code    *sourceText
}

// parts takes a text apart at its holes, ${...}. $${ stands for ${ itself. If a hole
// is not closed, parts returns the index of its $, and otherwise -1.
func parts(t sourceText) ([]part, int) {
	var all []part
	words := []rune{}
	for i := 0; i < len(t.runes); i++ {
		switch {
		case hasPrefixAt(t.runes, i, "$${"):
			words = append(words, '$', '{')
			i += 2
		case hasPrefixAt(t.runes, i, "${"):
			end := holeEnd(t.runes, i+2)
			if end < 0 {
				return nil, i
			}
			if len(words) > 0 {
				all = append(all, part{literal: string(words)})
				words = words[:0]
			}
			code := t.cut(i+2, end)
			all = append(all, part{code: &code})
			i = end
		default:
			words = append(words, t.runes[i])
		}
	}
	if len(words) > 0 {
		all = append(all, part{literal: string(words)})
	}
	return all, -1
}

func hasPrefixAt(runes []rune, at int, with string) bool {
	for n, r := range []rune(with) {
		if at+n >= len(runes) || runes[at+n] != r {
			return false
		}
	}
	return true
}

// holeEnd returns the index of the brace that closes the hole whose code starts at i, or
// -1. Braces in CEL's strings and comments don't count.
func holeEnd(runes []rune, i int) int {
	for depth := 0; i < len(runes); i++ {
		switch r := runes[i]; {
		case r == '{':
			depth++
		case r == '}' && depth == 0:
			return i
		case r == '}':
			depth--
		case r == '"' || r == '\'' || r == '`':
			i = stringEnd(runes, i)
		case hasPrefixAt(runes, i, "//"):
			for i+1 < len(runes) && runes[i+1] != '\n' {
				i++
			}
		}
	}
	return -1
}

// stringEnd returns the index of the last quote of the string that starts at i, or that
// of the text's end. In raw strings (r"...") backslashes are no escapes.
func stringEnd(runes []rune, i int) int {
	quote := string(runes[i])
	raw := i > 0 && (runes[i-1] == 'r' || runes[i-1] == 'R')
	if triple := quote + quote + quote; quote != "`" && hasPrefixAt(runes, i, triple) {
		quote = triple
	}
	for i += len(quote); i < len(runes); i++ {
		switch {
		case runes[i] == '\\' && !raw:
			i++
		case hasPrefixAt(runes, i, quote):
			return i + len(quote) - 1
		}
	}
	return i
}
