package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"
)

const (
	// maxPathBytes bounds the path of a field in a message: a server may name its fields as it likes.
	maxPathBytes = 512
	// maxStrictBytes is the length up to which the JSON library looks for doubled fields. It writes the path of
	// each: of many in a field with a long name that takes minutes.
	maxStrictBytes = 32 << 10
)

// unmarshal returns the value of a JSON text, and if asked for reports whether any of its fields is doubled.
func unmarshal(text []byte, findDoubled bool) (body any, doubled bool, err error) {
	if findDoubled && len(text) <= maxStrictBytes {
		all, err := kjson.UnmarshalStrict(text, &body, kjson.DisallowDuplicateFields)
		return body, len(all) > 0, err
	}
	err = kjson.UnmarshalCaseSensitivePreserveInts(text, &body)
	return body, err == nil && findDoubled && countNames(text) != countFields(body), err
}

// countNames returns how many names of fields a JSON text has.
func countNames(text []byte) (n int) {
	s := sizeScanner{text: text}
	for {
		next := bytes.IndexByte(text[s.at:], '"')
		if next < 0 {
			return n
		}
		s.at += next + 1
		if s.skipString(); s.isBeforeColon() {
			n++
		}
	}
}

// countFields returns how many fields a value has at any depth.
func countFields(v any) (n int) {
	switch v := v.(type) {
	case map[string]any:
		n = len(v)
		for _, field := range v {
			n += countFields(field)
		}
	case []any:
		for _, item := range v {
			n += countFields(item)
		}
	}
	return n
}

// level is an object or list around the next token of a JSON text.
type level struct {
	// names are those of the object's fields so far. It is nil for a list.
	names map[string]bool
	// name is that of the last field, and isNamed says that its value is next.
	name    string
	isNamed bool
	// index is that of the last item.
	index int
}

// firstDoubled returns the path of the first field of a valid JSON text that is there twice, and reports whether
// there is one. Those inside of objects that the hook wants to be there do not count: metacontroller has never
// looked into these. It does not look if no field at all is doubled.
func firstDoubled(text []byte, doubled bool) (path string, found bool) {
	if !doubled {
		return "", false
	}
	tokens := json.NewDecoder(bytes.NewReader(text))
	tokens.UseNumber()
	open := []level{{index: -1}} // The text itself.
	for {
		token, err := tokens.Token()
		if err != nil {
			return "", false
		}
		top := &open[len(open)-1]
		if token == json.Delim('}') || token == json.Delim(']') {
			open = open[:len(open)-1]
			continue
		}
		if top.names != nil && !top.isNamed {
			name, _ := token.(string)
			doubled := top.names[name]
			top.names[name], top.name, top.isNamed = true, name, true
			if doubled && !isWithinObject(open[1:]) {
				return pathOf(open[1:]), true
			}
			continue
		}
		top.isNamed = false
		top.index++
		switch token {
		case json.Delim('{'):
			open = append(open, level{names: map[string]bool{}})
		case json.Delim('['):
			open = append(open, level{index: -1})
		}
	}
}

// isWithinObject reports whether a place is in one of the objects that the hook wants to be there.
func isWithinObject(open []level) bool {
	return len(open) > 2 && slices.Contains([]string{"children", "attachments", "outputs"}, open[0].name) && open[1].names == nil
}

// pathOf returns the path of a field.
func pathOf(open []level) string {
	var b strings.Builder
	for i, l := range open {
		switch {
		case l.names == nil:
			fmt.Fprintf(&b, "[%d]", l.index)
		case i > 0:
			b.WriteString("." + l.name)
		default:
			b.WriteString(l.name)
		}
	}
	return b.String()
}
