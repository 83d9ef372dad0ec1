// Package document reads Kubernetes objects from YAML and JSON as kubectl does, and knows the line and column of
// each field.
//
// The values are those of sigs.k8s.io/yaml, which kubectl uses. A second parser finds the places, and
// refuses what is not worth expanding: see the limits.
package document

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/engines"
)

// Limits of one file. They are far above what people write and generate, and low enough for a few seconds and
// some hundred MB.
const (
	MaxBytes     = 16 << 20
	maxDocuments = 10_000
	maxDepth     = 200
	// maxValues counts values with all aliases expanded.
	maxValues = 1_000_000
)

// Object is an object of a file.
type Object struct {
	*unstructured.Unstructured
	// Location is where the object begins.
	Location engines.Location

	root *yaml.Node // nil without a text
	part part
}

// Error is a problem with a place in a file.
type Error struct {
	Location engines.Location
	Message  string
	// Object is where the object begins that the problem is about, if it is about one.
	Object engines.Location
}

// Error returns "file:line:column: message".
func (e *Error) Error() string {
	if at := e.Location.String(); at != "" {
		return at + ": " + e.Message
	}
	return e.Message
}

func errorAt(at engines.Location, format string, args ...any) *Error {
	return &Error{Location: at, Message: fmt.Sprintf(format, args...)}
}

// Read returns the objects of a file and its problems. The items of lists are objects of their own. The
// objects without a problem are returned even if there are others.
func Read(file string, text []byte) ([]*Object, []*Error) { return read(file, text, nil) }

// ReadWithin is Read for a file whose documents may hold that many values together, with aliases expanded. It is for a process that must
// not grow with what others write.
func ReadWithin(file string, text []byte, values int) ([]*Object, []*Error) {
	return read(file, text, &values)
}

func read(file string, text []byte, values *int) ([]*Object, []*Error) {
	if len(text) > MaxBytes {
		return nil, []*Error{errorAt(engines.Location{File: file},
			"has %d MiB, and %d MiB are read at most: split it", len(text)>>20, MaxBytes>>20)}
	}
	parts, err := split(file, text)
	if err != nil {
		return nil, []*Error{err}
	}
	var objects []*Object
	var problems []*Error
	for _, p := range parts {
		p.values = values
		found, errs := p.objects()
		objects, problems = append(objects, found...), append(problems, errs...)
	}
	return objects, problems
}

// ReadObject returns the object that the only document of a file is. It may be of any kind, and of none.
func ReadObject(file string, text []byte) (map[string]any, error) {
	parts, problem := split(file, text)
	if problem != nil {
		return nil, problem
	}
	var all []map[string]any
	for _, p := range parts {
		fields, _, problems := p.fields()
		if len(problems) > 0 {
			return nil, problems[0]
		}
		if fields != nil {
			all = append(all, fields)
		}
	}
	if len(all) != 1 {
		return nil, errorAt(engines.Location{File: file}, "has %d documents with an object, and must have one", len(all))
	}
	return all[0], nil
}

// Check returns an error if a YAML or JSON file is too large, too deep or grows too much when its aliases are
// expanded. It accepts what is not YAML, as any parser refuses that at once.
func Check(file string, text []byte) error { return check(file, text, nil) }

// CheckWithin is Check for a file whose documents may hold that many values together, with aliases expanded.
func CheckWithin(file string, text []byte, values int) error { return check(file, text, &values) }

func check(file string, text []byte, values *int) error {
	if len(text) > MaxBytes {
		return errorAt(engines.Location{File: file}, "has %d MiB, and %d MiB are read at most: split it", len(text)>>20, MaxBytes>>20)
	}
	parts, err := split(file, text)
	if err != nil {
		return err
	}
	for _, p := range parts {
		p.values = values
		if root, err := p.parse(); err == nil {
			if err := p.bound(root); err != nil {
				return err
			}
		}
	}
	return nil
}

// objects returns the objects of one document.
func (p part) objects() ([]*Object, []*Error) {
	fields, root, problems := p.fields()
	if fields == nil {
		return nil, problems
	}
	return p.flatten(p.object(fields, root))
}

// fields returns the object that a document is, or nil if it is empty.
func (p part) fields() (map[string]any, *yaml.Node, []*Error) {
	root, problem := p.parse()
	if problem == nil && root != nil {
		problem = p.bound(root)
	}
	if problem != nil {
		return nil, nil, []*Error{problem}
	}
	if root == nil || isNull(root) {
		return nil, nil, nil
	}
	if duplicates := p.duplicates(root); len(duplicates) > 0 {
		return nil, nil, duplicates
	}
	value, err := p.value()
	if err != nil {
		return nil, nil, []*Error{p.syntaxError(err)}
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, nil, []*Error{errorAt(p.place(root), "is no object: apiVersion, kind and metadata are missing")}
	}
	return fields, root, nil
}

// value returns the document's value as unstructured objects have it: whole numbers are int64.
func (p part) value() (any, error) {
	text := p.text
	if !p.json {
		var err error
		if text, err = sigsyaml.YAMLToJSON(text); err != nil {
			return nil, err
		}
	}
	var value any
	return value, json.Unmarshal(text, &value)
}

func (p part) object(fields map[string]any, root *yaml.Node) *Object {
	return &Object{Unstructured: &unstructured.Unstructured{Object: fields}, Location: p.place(root), root: root, part: p}
}

// flatten returns the object, or the items of a list.
func (p part) flatten(o *Object) ([]*Object, []*Error) {
	items, ok := o.Object["items"].([]any)
	kind, _ := o.Object["kind"].(string)
	if !ok || !strings.HasSuffix(kind, "List") {
		if err := p.checkHeader(o); err != nil {
			return nil, []*Error{err}
		}
		return []*Object{o}, nil
	}
	var objects []*Object
	var problems []*Error
	for i, item := range items {
		node := lookup(o.root, fmt.Sprintf("items[%d]", i))
		fields, ok := item.(map[string]any)
		if !ok {
			problems = append(problems, errorAt(p.place(node), "items[%d] is no object", i))
			continue
		}
		found, errs := p.flatten(p.object(fields, node))
		objects, problems = append(objects, found...), append(problems, errs...)
	}
	return objects, problems
}

// checkHeader returns an error if the object lacks what every object has.
func (p part) checkHeader(o *Object) *Error {
	for _, field := range []string{"apiVersion", "kind"} {
		switch value := o.Object[field].(type) {
		case nil:
			if _, isSchema := o.Object["group"].(string); isSchema && field == "apiVersion" {
				return errorAt(o.Location, "is no object, but what libretto crd makes a CustomResourceDefinition of: "+
					"name the other files instead of the folder, or list them in a kustomization.yaml")
			}
			return errorAt(o.Location, "%s is missing: every Kubernetes object has one", field)
		case string:
			if value == "" {
				return errorAt(o.Place(field), "%s is empty", field)
			}
		default:
			return errorAt(o.Place(field), "%s must be a string", field)
		}
	}
	if metadata, ok := o.Object["metadata"]; ok && metadata != nil {
		if _, ok := metadata.(map[string]any); !ok {
			return errorAt(o.Place("metadata"), "metadata must be an object with a name")
		}
	}
	for _, field := range []string{"name", "namespace", "generateName"} {
		if _, _, err := unstructured.NestedString(o.Object, "metadata", field); err != nil {
			return errorAt(o.Place("metadata."+field), "metadata.%s must be a string: put it into quotes", field)
		}
	}
	return nil
}

// syntaxError returns the error for what the YAML or JSON parser says.
func (p part) syntaxError(err error) *Error {
	line, message := lineOf(err.Error())
	if anchor, ok := strings.CutPrefix(message, "unknown anchor '"); ok {
		before, _, _ := bytes.Cut(p.text, []byte("*"+strings.TrimSuffix(anchor, "' referenced")))
		line = bytes.Count(before, []byte("\n")) + 1
	}
	last := bytes.Count(bytes.TrimRight(p.text, "\n"), []byte("\n")) + bytes.Count(p.text, []byte("\r")) + 1 // The parser may stop behind it.
	return errorAt(engines.Location{File: p.file, Line: p.before + min(max(line, 1), last)}, "%s", message)
}
