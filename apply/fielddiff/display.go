package fielddiff

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"strings"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
)

// hidden stands for a value that is not for people's eyes.
const hidden = "(hidden)"

// all is the schema of values that are hidden as they are.
var all = &openapi.Node{Secret: true}

// valueSeed makes the numbers that stand for values useless to anybody but this process.
var valueSeed = maphash.MakeSeed()

// confidential reports whether a path leads into the contents of a Secret, or to
// the annotations, where kubectl keeps a copy of them.
func confidential(path string) bool {
	return path == "metadata" || strings.HasPrefix(path, "metadata.annotations") ||
		strings.HasPrefix(path, "data") || strings.HasPrefix(path, "stringData")
}

// display writes a value for people: without what is secret, in no more than maxValueBytes,
// and with a mark if it was cut. If that is not all of it, a number stands for the whole.
func display(node *openapi.Node, v any) (text string, whole uint64) {
	if v == nil {
		return "", 0
	}
	visible, partly := redact(node, v)
	given, err := json.Marshal(v)
	public, alsoErr := json.Marshal(visible)
	switch {
	case err != nil || alsoErr != nil:
		return fmt.Sprintf("(%T)", v), 0
	case visible == any(hidden) && partly:
		return hidden, maphash.Bytes(valueSeed, given)
	case len(public) > maxValueBytes:
		return strings.ToValidUTF8(string(public[:maxValueBytes]), "") + "...", maphash.Bytes(valueSeed, given)
	case partly:
		return string(public), maphash.Bytes(valueSeed, given)
	default:
		return string(public), 0
	}
}

// redact gives a value without what is secret in it, and whether there was any.
func redact(node *openapi.Node, v any) (any, bool) {
	if node == nil || v == nil {
		return v, false
	}
	if node.Secret {
		return hidden, true
	}
	found := false
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, field := range v {
			visible, partly := redact(node.Field(name), field)
			out[name], found = visible, found || partly
		}
		return out, found
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			visible, partly := redact(node.Item(), item)
			out[i], found = visible, found || partly
		}
		return out, found
	}
	return v, false
}
