package failover

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

const (
	maxDifferences = 20  // in a log line
	maxValueBytes  = 200 // of a value in it
)

// SecretFunc reports whether a place in an object of a kind is secret.
type SecretFunc func(kind schema.GroupVersionKind, path jsonvalue.Path) bool

// format returns differences as a log can hold them, without the contents of Secrets and
// without what secret reports. It may be nil.
func (secret SecretFunc) format(found []difference) string {
	var lines []string
	for _, d := range found[:min(len(found), maxDifferences)] {
		lines = append(lines, fmt.Sprintf("%s: served %s, shadow %s",
			engines.Truncate(d.path.String(), maxPathBytes), secret.excerpt(d.path, d.served), secret.excerpt(d.path, d.shadow)))
	}
	if more := len(found) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

func (secret SecretFunc) excerpt(path jsonvalue.Path, value any) string {
	switch {
	case value == (absent{}):
		return "nothing"
	case secret.hides(path):
		return jsonvalue.Hidden
	}
	visible, _ := jsonvalue.Redact(path, value, secret.hides)
	text, _, err := jsonvalue.Text(visible, maxValueBytes)
	if err != nil {
		return err.Error()
	}
	return text
}

// hides reports whether a place in an answer is part of a Secret, or is secret by the schema
// of the object around it.
func (secret SecretFunc) hides(path jsonvalue.Path) bool {
	return path.InSecret() || secret != nil && path.InObjects(func(apiVersion, kind string, path jsonvalue.Path) bool {
		return secret(schema.FromAPIVersionAndKind(apiVersion, kind), path)
	})
}
