package jsonnet

import (
	"strings"

	"github.com/libretto-k8s/libretto/engines"
)

// trace collects the lines that a script writes with std.trace.
type trace struct{ engines.Log }

// Write implements io.Writer. The VM calls it once for each std.trace, with
// "TRACE: file:line text".
func (t *trace) Write(text []byte) (int, error) {
	t.Append(strings.TrimSuffix(strings.TrimPrefix(string(text), "TRACE: "), "\n"))
	return len(text), nil
}
