package javascript

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/dop251/goja"
)

// show writes a value for a reader: strings as they are, errors with their stack,
// anything else as JSON as far as it can be. It may run script code.
func (i *isolate) show(v goja.Value, limit int) string {
	o, ok := v.(*goja.Object)
	switch {
	case !ok:
		return cut(primitive(v), limit)
	case classOf(o) == "Error":
		return cut(i.thrown(o, nil).Detail(), limit)
	}
	if _, callable := goja.AssertFunction(o); callable {
		return "[function]"
	}
	x := &exporter{i: i, left: limit}
	if value, kept, err := x.value(o); err == nil && kept {
		return cut(text(value), limit)
	}
	return "[object " + classOf(o) + "]"
}

func primitive(v goja.Value) string {
	if s, ok := v.(*goja.Symbol); ok {
		return "Symbol(" + s.String() + ")"
	}
	return v.String()
}

func text(v any) string {
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

func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "..."
}
