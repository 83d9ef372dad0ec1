package cel

import (
	"regexp"
	"strings"

	"github.com/libretto-k8s/libretto/engines"
)

// scriptText returns the text of the script, which is one file: CEL has no imports.
func scriptText(script *engines.Script) (string, error) {
	at := engines.Location{File: script.Path}
	content, ok := script.Files[script.Path]
	switch {
	case !ok:
		return "", engines.InvalidError(at, "no such file: %s", script.Files)
	case len(content) > maxSourceBytes:
		return "", engines.InvalidError(at, "holds %d bytes, more than the %d allowed", len(content), maxSourceBytes)
	case script.Signature == engines.HTTPContext:
		return "", engines.InvalidError(at, "the signature HTTPContext is for JavaScript only: leave signature out")
	default:
		return strings.TrimPrefix(content, engines.ByteOrderMark), nil
	}
}

// documentStart is how a document starts, but for empty lines and comments. No
// expression can.
var documentStart = regexp.MustCompile(`\A(?:[ \t]*(?:#.*|---[ \t]*)?\r?\n)*(?:variables|response|hooks)[ \t]*:(?:\s|\z)`)

// isDocument reports whether a script is a document. An inline one has no ending that says so.
func isDocument(path, content string) bool {
	return strings.HasSuffix(path, ".yaml") || strings.HasSuffix(path, ".yml") || documentStart.MatchString(content)
}
