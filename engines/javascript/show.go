package javascript

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/dop251/goja"

	"github.com/libretto-k8s/libretto/engines"
)

// format returns a value as text: strings as they are, errors with their stack,
// anything else as JSON as far as it can be. It may run script code.
func (i *isolate) format(v goja.Value, limit int) string {
	o, ok := v.(*goja.Object)
	switch {
	case !ok:
		return engines.Truncate(primitive(v), limit)
	case classOf(o) == "Error":
		return engines.Truncate(i.thrownError(o, nil).Detail(), limit)
	}
	if _, callable := goja.AssertFunction(o); callable {
		return "[function]"
	}
	x := &exporter{i: i, Budget: engines.Budget(limit), lenient: true}
	if value, kept, err := x.value(o); err == nil && kept {
		return engines.Truncate(jsonText(value), limit)
	}
	return "[object " + classOf(o) + "]"
}

func primitive(v goja.Value) string {
	if s, ok := v.(*goja.Symbol); ok {
		return "Symbol(" + s.String() + ")"
	}
	return v.String()
}

func jsonText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}
