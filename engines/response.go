package engines

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"strings"
)

// MaxResponseBytes bounds the response of a script, measured as if it were JSON.
const MaxResponseBytes = 8 << 20

// MaxResponseMemory bounds the memory that the response of a worker or of a webhook takes, decoded: twelve times as
// much as it may have bytes.
const MaxResponseMemory = 12 * MaxResponseBytes

// Budget is the number of bytes that a response may still have.
type Budget int

// Spend takes bytes from the budget. It returns an error of kind Exhausted if too few are left.
func (b *Budget) Spend(bytes int) error {
	if *b -= Budget(bytes); *b < 0 {
		return &Error{Kind: Exhausted, Message: fmt.Sprintf("the response is larger than %d MiB", MaxResponseBytes>>20)}
	}
	return nil
}

// Number returns a whole number as int64, as decoding the same JSON would, and any other as
// float64.
func Number(f float64) any {
	if f == math.Trunc(f) && math.Abs(f) < 1<<63 {
		return int64(f)
	}
	return f
}

// Path leads to a value in a response: each part is a key (string) or an index (int).
type Path []any

var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// String returns the path as a script would write it: children[2].metadata.labels["a/b"].
func (p Path) String() string {
	var b strings.Builder
	for _, part := range p {
		key, isKey := part.(string)
		switch {
		case !isKey:
			fmt.Fprintf(&b, "[%d]", part)
		case !plainKey.MatchString(key):
			fmt.Fprintf(&b, "[%q]", key)
		case b.Len() == 0:
			b.WriteString(key)
		default:
			b.WriteString("." + key)
		}
	}
	return b.String()
}

// Errorf returns an error of kind BadResponse about the value at the path.
func (p Path) Errorf(format string, args ...any) *Error {
	message := fmt.Sprintf(format, args...)
	if len(p) > 0 {
		message = p.String() + ": " + message
	}
	return &Error{Kind: BadResponse, Message: message}
}

// WithParameters returns the request with the script's parameters as a field. It does not
// change request.
func (s *Script) WithParameters(request map[string]any) map[string]any {
	if s.Parameters == nil {
		return request
	}
	all := make(map[string]any, len(request)+1)
	maps.Copy(all, request)
	all["parameters"] = s.Parameters
	return all
}
