// Package printable makes text of others safe to print: a terminal obeys control characters, and people do not see what is invisible.
//
// Control characters are replaced. What is invisible is written as its code point, such as <U+202E>: what turns the direction of text
// (a line of a script would be read in another order than it runs), what has no width (two names or values would look the same), and
// tags and variation selectors, which can hold a text that nobody sees. Kept are those that letters and symbols need: a joiner or a
// non-joiner after a letter of a script whose letters change their shape by it, as in Persian and Hindi, and a joiner or a variation
// selector of an emoji after a symbol. A second one in a row does nothing, and is written out.
package printable

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Text returns a text whose control characters, but for line ends and tabs, are replaced, and whose invisible characters are written out.
func Text(text string) string {
	if strings.IndexFunc(text, isSuspect) < 0 {
		return strings.ToValidUTF8(text, "\ufffd")
	}
	var b strings.Builder
	before := rune(0)
	for _, r := range text {
		switch {
		case !isSuspect(r), isShaping(before, r):
			b.WriteRune(r)
		case unicode.IsControl(r):
			b.WriteRune('\ufffd')
		default:
			fmt.Fprintf(&b, "<U+%04X>", r)
		}
		before = r
	}
	return b.String()
}

// invisible are the characters without a width or a form of their own.
var invisible = []*unicode.RangeTable{
	unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point,
}

// isSuspect reports whether a character is no line end or tab, and is obeyed or not seen.
func isSuspect(r rune) bool {
	if r < 0x7f {
		return r < ' ' && r != '\n' && r != '\t'
	}
	return unicode.IsControl(r) || unicode.In(r, invisible...) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

const (
	nonJoiner, joiner           = '\u200c', '\u200d'
	textStyle, emojiStyle       = '\ufe0e', '\ufe0f'
	firstSkinTone, lastSkinTone = '\U0001f3fb', '\U0001f3ff'
)

// shaped are the scripts whose letters change their shape by a joiner or a non-joiner.
var shaped = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya,
	unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar,
}

// isShaping reports whether an invisible character changes how the one before it looks.
func isShaping(before, r rune) bool {
	isSymbol := unicode.Is(unicode.So, before) || before >= firstSkinTone && before <= lastSkinTone
	switch r {
	case nonJoiner:
		return unicode.In(before, shaped...)
	case joiner:
		return isSymbol || before == emojiStyle || unicode.In(before, shaped...)
	case textStyle, emojiStyle:
		return isSymbol
	default:
		return false
	}
}

// Line is Text for a text that is to stay on one line.
func Line(text string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(Text(text))
}

// Writer returns a writer that writes Text of what it is given to out. No character may be in two writes.
func Writer(out io.Writer) io.Writer { return writer{out} }

type writer struct{ out io.Writer }

// Write writes the text.
func (w writer) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.out, Text(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}
