package apply

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"k8s.io/client-go/rest"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/runtime/values/spelling"
)

// WarningHandler gives the API server's warnings about unknown fields to the write that they are about (Outcome.Unknown), and logs
// all others as client-go does. Clients of Execute need it: the API server sends these warnings unasked, with answers of any form.
type WarningHandler struct{}

// unknownFields are the paths in the warnings about one write, whose requests follow each other.
type unknownFields struct{ paths []string }

// unknownFieldsKey is the key of an *unknownFields in the context of a write.
type unknownFieldsKey struct{}

// maxUnknownFields is how many are kept of one write.
const maxUnknownFields = 20

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (WarningHandler) HandleWarningHeaderWithContext(ctx context.Context, code int, agent, text string) {
	path, isUnknown := strings.CutPrefix(text, `unknown field "`)
	found, isWrite := ctx.Value(unknownFieldsKey{}).(*unknownFields)
	if !isUnknown || !isWrite {
		rest.WarningLogger{}.HandleWarningHeaderWithContext(ctx, code, agent, text)
		return
	}
	found.add(strings.TrimSuffix(path, `"`))
}

func (f *unknownFields) add(path string) {
	if len(f.paths) < maxUnknownFields && !slices.Contains(f.paths, path) {
		f.paths = append(f.paths, path)
	}
}

// undeclared finds the path of a field that server-side apply refuses.
var undeclared = regexp.MustCompile(`\.([^\s:]+): field not declared in schema`)

// RefusedField returns the path of the first field that server-side apply refuses as it is not in the schema, or "".
func (o Result) RefusedField() string {
	if !untyped(o.Err) {
		return ""
	}
	if found := undeclared.FindStringSubmatch(o.Err.Error()); found != nil {
		return found[1]
	}
	return ""
}

// MeantField returns "did you mean X?" about an unknown field of a kind, which may be nil, or "".
func MeantField(kind *openapi.Kind, path string) string {
	if kind == nil {
		return ""
	}
	names, node := strings.Split(path, "."), kind.Root
	for _, name := range names[:len(names)-1] {
		name, _, isItem := strings.Cut(name, "[")
		if node = node.Field(name); isItem {
			node = node.Item()
		}
	}
	if node == nil {
		return ""
	}
	known := make([]string, 0, len(node.Fields))
	for name := range node.Fields {
		known = append(known, name)
	}
	return spelling.Meant(names[len(names)-1], known)
}
