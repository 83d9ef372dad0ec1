package fielddiff

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// confidential reports whether a path leads into the contents of a Secret, or to
// the annotations, where kubectl keeps a copy of them.
func confidential(path string) bool {
	return path == "metadata" || strings.HasPrefix(path, "metadata.annotations") ||
		strings.HasPrefix(path, "data") || strings.HasPrefix(path, "stringData")
}

// display returns a value as text: without what is secret, in no more than maxValueBytes,
// and with a mark if it was cut.
func (d *description) display(path jsonvalue.Path, v any) string {
	if v == nil {
		return ""
	}
	visible, partly := jsonvalue.Redact(path, v, d.isSecret)
	if partly && visible == any(jsonvalue.Hidden) {
		return jsonvalue.Hidden
	}
	text, _, err := jsonvalue.Text(visible, maxValueBytes)
	if err != nil {
		return fmt.Sprintf("(%T)", v)
	}
	return text
}

// isSecret reports whether a place is part of what a Secret holds, or secret by the schema.
func (d *description) isSecret(path jsonvalue.Path) bool {
	return d.kind.Secret(path) || path.InSecret() || d.secret && confidential(path.String())
}

// Mask returns a text about objects of a kind with jsonvalue.Hidden in place of what is secret in them. The
// schema and the objects may be nil.
func Mask(text string, kind *openapi.Kind, objects ...*unstructured.Unstructured) string {
	var secrets []string
	for _, object := range objects {
		if object != nil {
			secrets = append(secrets, jsonvalue.SecretTexts(nil, object.Object, kind.Secret)...)
		}
	}
	return jsonvalue.Mask(text, secrets)
}

// PublicPath returns the path of a field for messages. It leaves out the keys of a Secret: not every user
// who may read a message may read the Secret.
func PublicPath(kind schema.GroupVersionKind, path string) string {
	if kind.Group != "" || kind.Kind != "Secret" {
		return path
	}
	for _, field := range []string{"data", "stringData"} {
		if rest, ok := strings.CutPrefix(path, field); ok && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "[")) {
			return field
		}
	}
	return path
}
