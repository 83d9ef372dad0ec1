package javascript

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// property matches \p{...} and \P{...}, and what decides what they stand for: other escapes, and the brackets of classes.
var property = regexp.MustCompile(`\\([pP])\{([^}]*)\}|\\.|\[|\]`)

// expandProperties writes the characters of Unicode's properties into a pattern of the u flag, because goja takes \p{L} and matches
// nothing.
func expandProperties(pattern string) (string, error) {
	if !strings.Contains(pattern, `\p{`) && !strings.Contains(pattern, `\P{`) {
		return pattern, nil
	}
	var unknown error
	inClass := false
	expanded := property.ReplaceAllStringFunc(pattern, func(found string) string {
		parts := property.FindStringSubmatch(found)
		switch {
		case found == "[" || found == "]":
			inClass = found == "["
			return found
		case parts[1] == "":
			return found
		}
		set, known := propertySet(parts[2])
		if !known {
			unknown = cmp.Or(unknown, fmt.Errorf(`regular expressions know no property \p{%s}: there are categories such as \p{Lu}, `+
				`scripts such as \p{Script=Greek}, and properties such as \p{Alphabetic}`, parts[2]))
		}
		if parts[1] == "P" {
			set = set.complement()
		}
		if inClass {
			return set.String()
		}
		return "[" + set.String() + "]"
	})
	return expanded, unknown
}

// runeSet are ranges of characters in their order, none of which overlap.
type runeSet []runeRange

type runeRange struct{ first, last rune }

// String returns the set as it is written within the brackets of a class. Halves of surrogate pairs are no characters of Go's.
func (s runeSet) String() string {
	var b strings.Builder
	for _, r := range s {
		for _, part := range []runeRange{{r.first, min(r.last, 0xD7FF)}, {max(r.first, 0xE000), r.last}} {
			if part.first <= part.last {
				fmt.Fprintf(&b, `\u{%X}-\u{%X}`, part.first, part.last)
			}
		}
	}
	return b.String()
}

func (s runeSet) complement() runeSet {
	var without runeSet
	next := rune(0)
	for _, r := range s {
		if next < r.first {
			without = append(without, runeRange{next, r.first - 1})
		}
		next = r.last + 1
	}
	if next <= unicode.MaxRune {
		without = append(without, runeRange{next, unicode.MaxRune})
	}
	return without
}

func union(tables ...*unicode.RangeTable) runeSet {
	var all runeSet
	for _, table := range tables {
		for _, r := range table.R16 {
			all = all.appendRange(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range table.R32 {
			all = all.appendRange(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	slices.SortFunc(all, func(a, b runeRange) int { return cmp.Compare(a.first, b.first) })
	merged := all[:0]
	for _, r := range all {
		if n := len(merged); n > 0 && r.first <= merged[n-1].last+1 {
			merged[n-1].last = max(merged[n-1].last, r.last)
		} else {
			merged = append(merged, r)
		}
	}
	return merged
}

func (s runeSet) appendRange(first, last, stride rune) runeSet {
	if stride == 1 {
		return append(s, runeRange{first, last})
	}
	for r := first; r <= last; r += stride {
		s = append(s, runeRange{r, r})
	}
	return s
}

// derivedProperties are those that the Unicode standard makes of others (DerivedCoreProperties.txt), and what is taken out of them.
var derivedProperties = map[string]struct{ of, without []string }{
	"Alphabetic": {of: []string{"L", "Nl", "Other_Alphabetic"}},
	"Lowercase":  {of: []string{"Ll", "Other_Lowercase"}},
	"Uppercase":  {of: []string{"Lu", "Other_Uppercase"}},
	"Math":       {of: []string{"Sm", "Other_Math"}},
	"ID_Start":   {of: []string{"L", "Nl", "Other_ID_Start"}, without: []string{"Pattern_Syntax", "Pattern_White_Space"}},
	"ID_Continue": {
		of:      []string{"L", "Nl", "Other_ID_Start", "Mn", "Mc", "Nd", "Pc", "Other_ID_Continue"},
		without: []string{"Pattern_Syntax", "Pattern_White_Space"},
	},
}

// propertySet returns the characters of a property by its name in JavaScript.
func propertySet(name string) (set runeSet, known bool) {
	derived, isDerived := derivedProperties[name]
	kind, value, isPair := strings.Cut(name, "=")
	switch {
	case name == "Any":
		return runeSet{{0, unicode.MaxRune}}, true
	case name == "ASCII":
		return runeSet{{0, unicode.MaxASCII}}, true
	case name == "Assigned":
		return union(unicode.Categories["Cn"]).complement(), true
	case isDerived:
		all := union(tablesOf(derived.of)...)
		for _, r := range union(tablesOf(derived.without)...) {
			all = all.without(r)
		}
		return all, true
	case !isPair:
		return setOf(tableOf(name))
	case kind == "General_Category" || kind == "gc":
		return setOf(categoryOf(value))
	case kind == "Script" || kind == "sc":
		return setOf(unicode.Scripts[value])
	}
	return nil, false
}

func setOf(table *unicode.RangeTable) (runeSet, bool) {
	if table == nil {
		return nil, false
	}
	return union(table), true
}

// without returns the set without a range.
func (s runeSet) without(taken runeRange) (left runeSet) {
	for _, r := range s {
		for _, part := range []runeRange{{r.first, min(r.last, taken.first-1)}, {max(r.first, taken.last+1), r.last}} {
			if part.first <= part.last {
				left = append(left, part)
			}
		}
	}
	return left
}

func tablesOf(names []string) []*unicode.RangeTable {
	tables := make([]*unicode.RangeTable, len(names))
	for n, name := range names {
		tables[n] = tableOf(name)
	}
	return tables
}

func tableOf(name string) *unicode.RangeTable {
	if table := categoryOf(name); table != nil {
		return table
	}
	return unicode.Properties[name]
}

func categoryOf(name string) *unicode.RangeTable {
	if short, ok := unicode.CategoryAliases[name]; ok {
		name = short
	}
	return unicode.Categories[name]
}
