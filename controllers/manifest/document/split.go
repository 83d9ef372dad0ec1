package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/libretto-k8s/libretto/engines"
)

// part is the text of one document of a file.
type part struct {
	file   string
	text   []byte
	before int // lines before it
	json   bool
	// values is how many values the documents of the file may still hold together, or nil if each may hold maxValues.
	values *int
}

const separator = "---"

// split returns the documents of a file. Like kubectl, it takes a text that begins with a brace for JSON, of which
// there may be several values, and splits YAML at lines that begin with ---.
func split(file string, text []byte) ([]part, *Error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if i := invalidUTF8(text); i >= 0 {
		return nil, errorAt(engines.Location{File: file, Line: bytes.Count(text[:i], []byte("\n")) + 1}, "is not UTF-8 text: save it as UTF-8")
	}
	parts, err := splitYAML(file, text)
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '{' {
		if asJSON, isJSON := splitJSON(file, text); isJSON {
			parts, err = asJSON, nil
		}
	}
	if err == nil && len(parts) > maxDocuments {
		err = errorAt(engines.Location{File: file}, "has %d documents, and %d are read at most: split it", len(parts), maxDocuments)
	}
	return parts, err
}

func splitYAML(file string, text []byte) ([]part, *Error) {
	var parts []part
	current := part{file: file}
	start, line, offset := 0, 0, 0
	flush := func() {
		if current.text = text[start:offset]; len(bytes.TrimSpace(current.text)) > 0 {
			parts = append(parts, current)
		}
	}
	for rest := range bytes.Lines(text) {
		line++
		if after, ok := bytes.CutPrefix(rest, []byte(separator)); ok {
			after = bytes.TrimSpace(after)
			if len(after) > 0 && after[0] != '#' {
				return nil, errorAt(engines.Location{File: file, Line: line, Column: 1},
					"after --- at the start of a line only a comment may follow: begin the document on the next line")
			}
			flush()
			start, current.before = offset+len(rest), line
		}
		offset += len(rest)
	}
	flush()
	return parts, nil
}

// splitJSON returns the JSON values of a text. It returns false if the text is not JSON: flow YAML begins with a brace too.
func splitJSON(file string, text []byte) ([]part, bool) {
	decoder := newDecoder(text)
	var parts []part
	for {
		start := int(decoder.InputOffset())
		if err := decoder.skip(); errors.Is(err, io.EOF) {
			return parts, true
		} else if err != nil {
			return nil, false
		}
		before := bytes.Count(text[:start], []byte("\n"))
		parts = append(parts, part{file: file, text: text[start:decoder.InputOffset()], before: before, json: true})
	}
}

// parse returns the document's tree, or nil if it is empty.
func (p part) parse() (*yaml.Node, *Error) {
	if p.json {
		return p.parseJSON()
	}
	var document yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(p.text))
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, p.syntaxError(err)
	}
	if len(document.Content) == 0 {
		return nil, nil
	}
	return document.Content[0], nil
}

// place returns a node's location.
func (p part) place(node *yaml.Node) engines.Location {
	if node == nil || node.Line == 0 {
		return engines.Location{File: p.file, Line: p.before + 1}
	}
	return engines.Location{File: p.file, Line: p.before + node.Line, Column: node.Column}
}

// parserMessages are those for which the YAML parser counts lines from 0.
var parserMessages = regexp.MustCompile(`did not find expected (key|'-' indicator|node content|',' or|<)`)

// lineOf splits "yaml: line 3: message", which may be wrapped, into its line, or 0, and the message.
func lineOf(text string) (line int, message string) {
	text = strings.TrimPrefix(text, "error converting YAML to JSON: ")
	text = strings.TrimPrefix(text, "yaml: ")
	if _, err := fmt.Sscanf(text, "line %d:", &line); err != nil {
		if strings.HasPrefix(text, "invalid map key: ") { // What follows is in the words of Go.
			text = "invalid map key"
		}
		return 0, text + yamlAdvice(text)
	}
	_, message, _ = strings.Cut(text, ": ")
	if parserMessages.MatchString(message) {
		line++
	}
	return line, message + yamlAdvice(message)
}

// yamlAdvice returns what to do about a message of the YAML parser, or "". It begins with a colon.
func yamlAdvice(message string) string {
	for _, advice := range []struct{ part, text string }{
		{"mapping values are not allowed", `a text with ": " in it is put in quotes, and a field begins in the column of those beside it`},
		{"cannot start any token", "YAML is indented by spaces and never by tabs, and a text that begins with @, % or ` is put in quotes"},
		{"did not find expected key", "the fields of one object begin in one column, and a text that begins with a quote ends with it"},
		{"did not find expected ',' or", `a { or [ is not closed, or a text with a bracket, a comma or ": " in it is not in quotes`},
		{"did not find expected '-' indicator", "the items of one list begin in one column"},
		{"did not find expected node content", "a [ or { is not closed, or a comma is too many"},
		{"already defined at line", "a field is given once"},
		{"invalid map key", "a text that begins with { is put in quotes, and a template of Helm is filled in first: helm template"},
	} {
		if strings.Contains(message, advice.part) {
			return ": " + advice.text
		}
	}
	return ""
}

// invalidUTF8 finds the first byte that is not UTF-8, or returns -1.
func invalidUTF8(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}
