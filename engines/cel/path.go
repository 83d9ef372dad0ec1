package cel

import (
	"fmt"
	"regexp"
	"strings"
)

// path leads to a value in the response: each part is a key (string) or an index (int).
type path []any

var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// String writes the path as an expression would: children[2].metadata.labels["a/b"].
func (p path) String() string {
	var b strings.Builder
	for _, part := range p {
		key, isKey := part.(string)
		switch {
		case !isKey || !plainKey.MatchString(key):
			fmt.Fprintf(&b, "[%s]", quotedPart(part))
		case b.Len() == 0:
			b.WriteString(key)
		default:
			b.WriteString("." + key)
		}
	}
	return b.String()
}

func quotedPart(part any) string {
	if key, ok := part.(string); ok {
		return fmt.Sprintf("%q", key)
	}
	return fmt.Sprint(part)
}
