package check

import (
	"regexp"
	"strings"

	"github.com/libretto-k8s/libretto/runtime/values/spelling"
)

// unusedImport is a name that a file imports and does not use.
type unusedImport struct {
	name string
	line int
}

// boundName matches a name of an import clause, with the name that it is bound to.
var boundName = regexp.MustCompile(`^(?:type\s+)?(?:[\w$*"']+\s+as\s+)?([A-Za-z_$][\w$]*)$`)

// unusedImports returns the names that a text imports and does not have anywhere else, not even in a comment. statement matches its
// imports, as engines.Definition has them. It may be nil.
func unusedImports(statement *regexp.Regexp, text string) []unusedImport {
	if statement == nil {
		return nil
	}
	var unused []unusedImport
	for _, at := range statement.FindAllStringSubmatchIndex(text, -1) {
		clause := text[at[2]:at[3]]
		for _, part := range strings.FieldsFunc(clause, func(r rune) bool { return strings.ContainsRune("{},", r) }) {
			match := boundName.FindStringSubmatch(strings.TrimSpace(part))
			if match == nil || count(text, match[1]) > count(text[at[0]:at[1]], match[1]) {
				continue
			}
			offset := at[2] + strings.Index(clause, match[1])
			unused = append(unused, unusedImport{match[1], 1 + strings.Count(text[:offset], "\n")})
		}
	}
	return unused
}

// count returns how often a text has an identifier.
func count(text, name string) int {
	n := 0
	for at := spelling.Index(text, name, 0); at >= 0; at = spelling.Index(text, name, at+len(name)) {
		n++
	}
	return n
}
