package failover

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/libretto-k8s/libretto/engines"
)

const (
	maxDifferences = 20  // differences in a log line
	maxValueBytes  = 200 // bytes of a value in it
)

// hidden replaces the contents of Secrets.
const hidden = "(hidden)"

// formatDifferences returns differences for the log, without the contents of Secrets.
func formatDifferences(found []Difference) string {
	var lines []string
	for _, d := range found[:min(len(found), maxDifferences)] {
		lines = append(lines, fmt.Sprintf("%s: served %s, shadow %s", d.Path, excerpt(d.Served, d.Secret), excerpt(d.Shadow, d.Secret)))
	}
	if more := len(found) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

func excerpt(value any, secret bool) string {
	switch {
	case value == (absent{}):
		return "nothing"
	case secret:
		return hidden
	}
	text, err := json.Marshal(redacted(value))
	if err != nil {
		return err.Error()
	}
	return engines.Truncate(string(text), maxValueBytes)
}

// redacted returns a value without the Secrets in it.
func redacted(value any) any {
	switch v := value.(type) {
	case map[string]any:
		if isSecret(v) {
			return hidden
		}
		kept := make(map[string]any, len(v))
		for key, field := range v {
			kept[key] = redacted(field)
		}
		return kept
	case []any:
		kept := make([]any, len(v))
		for i, item := range v {
			kept[i] = redacted(item)
		}
		return kept
	default:
		return value
	}
}

func isSecret(object map[string]any) bool {
	return object["apiVersion"] == "v1" && object["kind"] == "Secret"
}
