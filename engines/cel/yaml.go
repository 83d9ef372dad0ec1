package cel

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/libretto-k8s/libretto/engines"
)

// parse reads the one YAML document that the file holds.
func (d *document) parse(content string) *yaml.Node {
	var parsed, second yaml.Node
	decoder := yaml.NewDecoder(strings.NewReader(content))
	err := decoder.Decode(&parsed)
	switch {
	case errors.Is(err, io.EOF):
		d.addError(engines.Location{File: d.file.path}, "is empty: write response, or hooks")
		return nil
	case err != nil:
		d.addError(d.yamlError(err))
		return nil
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		d.addNodeErrorf(&second, "a second YAML document starts here: a script is one")
		return nil
	case !errors.Is(err, io.EOF):
		d.addError(d.yamlError(err))
		return nil
	}
	return parsed.Content[0]
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// yamlError returns the place and message of an error of the YAML parser. It tells
// the line at most, and none for the first. Of its two stages the second one, whose
// errors start with "did not find", counts lines from 0.
func (d *document) yamlError(err error) (engines.Location, string) {
	at, message := engines.Location{File: d.file.path, Line: 1}, err.Error()
	if found := yamlLine.FindStringSubmatch(message); found != nil {
		message = found[2]
		if line, err := strconv.Atoi(found[1]); err == nil {
			at.Line = line
		}
		if strings.HasPrefix(message, "did not find") && found[1] != "" {
			at.Line++
		}
	}
	if strings.HasPrefix(message, "unknown anchor") {
		at.Line = 0
	}
	if strings.HasPrefix(message, "did not find") || strings.HasPrefix(message, "mapping values") {
		message += ": texts with ': ', ' #' or braces in braces must be quoted"
	} else if strings.Contains(message, "cannot start any token") {
		message += ": YAML is indented by spaces and never by tabs, and a text that begins with @, % or ` is quoted"
	}
	return at, "YAML: " + message
}

// structure returns the values of a mapping by their keys, of which only those known
// may be there. With none known, any may.
func (d *document) structure(y *yaml.Node, known ...string) map[string]*yaml.Node {
	fields := map[string]*yaml.Node{}
	y = resolveAlias(y)
	if y.Kind != yaml.MappingNode {
		d.addNodeErrorf(y, "must be a mapping")
		return fields
	}
	for i := 0; i < len(y.Content); i += 2 {
		key := y.Content[i]
		switch {
		case len(known) > 0 && !slices.Contains(known, key.Value):
			d.addNodeErrorf(key, "unknown field %q: known are %s", key.Value, strings.Join(known, ", "))
		case fields[key.Value] != nil:
			d.addNodeErrorf(key, "the field %q stands here twice", key.Value)
		default:
			fields[key.Value] = y.Content[i+1]
		}
	}
	return fields
}

// resolveAlias returns what an alias stands for, or y itself.
func resolveAlias(y *yaml.Node) *yaml.Node {
	if y.Kind == yaml.AliasNode {
		return y.Alias
	}
	return y
}

func (d *document) addNodeErrorf(y *yaml.Node, format string, args ...any) {
	d.addError(engines.Location{File: d.file.path, Line: y.Line, Column: y.Column}, fmt.Sprintf(format, args...))
}
