package engines

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/libretto-k8s/libretto/spelling"
)

// groupName matches the names of groups of objects, such as Pod.v1 and Deployment.apps/v1.
var groupName = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*\.([a-z0-9.-]+/)?v[0-9][a-z0-9]*$`)

// MissingField returns what to say about a field that a script asked for and that is not there: the one of fields that was meant, or
// for a group of objects which there are among them, or "".
func MissingField(name string, fields []string) string {
	if groupName.MatchString(name) {
		return spelling.Hint(name, slices.DeleteFunc(slices.Clone(fields), func(field string) bool { return !groupName.MatchString(field) }))
	}
	if meant := spelling.Nearest(name, fields); meant != "" {
		return fmt.Sprintf("did you mean %s?", meant)
	}
	return ""
}
