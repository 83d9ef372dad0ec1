package cel

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/libretto-k8s/libretto/engines"
)

// scriptText gives the text of the script, which is one file: CEL has no imports.
func scriptText(script *engines.Script) (string, error) {
	at := engines.Location{File: script.Path}
	content, ok := script.Files[script.Path]
	switch {
	case !ok:
		return "", invalid(at, "no such file: "+listing(script.Files))
	case len(content) > maxSourceBytes:
		return "", invalid(at, fmt.Sprintf("holds %d bytes, more than the %d allowed", len(content), maxSourceBytes))
	case script.Signature == engines.HTTPContext:
		return "", invalid(at, "the signature HTTPContext is for JavaScript only: leave signature out")
	default:
		return content, nil
	}
}

func listing(files map[string]string) string {
	const shown = 10
	names := slices.Sorted(maps.Keys(files))
	if len(names) <= shown {
		return "there are " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("there are %s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

// documentStart is how a document starts, but for empty lines and comments. No
// expression can.
var documentStart = regexp.MustCompile(`\A(?:[ \t]*(?:#.*|---[ \t]*)?\r?\n)*(?:variables|response|hooks)[ \t]*:(?:\s|\z)`)

// isDocument says whether a script is a document. An inline one has no ending to go by.
func isDocument(path, content string) bool {
	return strings.HasSuffix(path, ".yaml") || strings.HasSuffix(path, ".yml") || documentStart.MatchString(content)
}

func invalid(at engines.Location, message string) *engines.Error {
	return &engines.Error{Kind: engines.Invalid, Location: at, Message: message}
}
