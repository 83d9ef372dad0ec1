package javascript

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// trail leads to a value: each part is a key (string) or an index (int).
type trail []any

var plainKey = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

// String writes the path as a script would: children[2].metadata.labels["a/b"].
func (p trail) String() string {
	var b strings.Builder
	for _, part := range p {
		switch part := part.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", part)
		case string:
			b.WriteString(step(part, b.Len() == 0))
		}
	}
	return b.String()
}

func step(key string, first bool) string {
	switch {
	case !plainKey.MatchString(key):
		return fmt.Sprintf("[%q]", key)
	case first:
		return key
	default:
		return "." + key
	}
}

// last is the key that toJSON is given.
func (p trail) last() string {
	if len(p) == 0 {
		return ""
	}
	if index, ok := p[len(p)-1].(int); ok {
		return strconv.Itoa(index)
	}
	return p[len(p)-1].(string)
}
