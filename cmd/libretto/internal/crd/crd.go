package crd

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/libretto-k8s/libretto/engines"
)

// Make returns the CustomResourceDefinitions of the short schemas in a file, as YAML. The name of the file is for errors.
func Make(file string, text []byte) ([]byte, error) {
	var made [][]byte
	var errs []error
	for documents := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var document yaml.Node
		err := documents.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w%s", file, err, syntaxHint(text, err))
		}
		r := &reader{file: file, lines: map[string]int{}, known: map[string]*property{}, first: document.Content[0].Line}
		one, err := r.document(document.Content[0])
		made, errs = append(made, one), append(errs, err)
	}
	if len(made) == 0 {
		return nil, fmt.Errorf("%s: is empty: a schema has group, kind and spec", file)
	}
	made[0] = append(fmt.Appendf(nil, "# Made by libretto crd of %s: edit that.\n", filepath.Base(file)), made[0]...)
	return bytes.Join(made, []byte("---\n")), errors.Join(errs...)
}

// madeOf matches the first line of what Make returns.
var madeOf = regexp.MustCompile(`^# Made by libretto crd of ([^/\n]+): edit that\.\n`)

// Outdated returns why a CustomResourceDefinition is not what Make makes of the short schema beside its file that it was made of, or "":
// then it is, or there is no such schema. Of several in a file the first one tells.
func Outdated(at engines.Location) string {
	text, _ := os.ReadFile(at.File) // What can't be read has no first line.
	found := madeOf.FindSubmatch(text)
	if found == nil || at.Line > 2 {
		return ""
	}
	name := string(found[1])
	schema, readErr := os.ReadFile(filepath.Join(filepath.Dir(at.File), name))
	made, err := Make(name, schema)
	switch {
	case readErr != nil || bytes.Equal(made, text):
		return ""
	case err != nil:
		return err.Error()
	default:
		return fmt.Sprintf("it is not what %s says: libretto crd %[1]s -o %s, in its folder", name, filepath.Base(at.File))
	}
}

var openList = regexp.MustCompile(`[:{,] *\[\]`)

// syntaxHint returns what to do about an error of YAML, if it is one that short schemas are prone to.
func syntaxHint(text []byte, err error) string {
	switch {
	case strings.Contains(err.Error(), "mapping values are not allowed"):
		return ": put a line that has a colon with a space into quotes"
	case openList.Match(text):
		return `: the type of a list is "[]string", in quotes`
	default:
		return ""
	}
}

// keys are what a schema has.
var keys = []string{
	"group", "version", "kind", "plural", "singular", "shortNames", "categories", "scope", "description",
	"types", "metadata", "spec", "status", "additionalPrinterColumns", "scale",
}

// document returns the definition of one schema.
func (r *reader) document(root *yaml.Node) ([]byte, error) {
	for i := 0; i < len(root.Content) && root.Kind == yaml.MappingNode; i += 2 {
		if root.Content[i].Value == "apiVersion" {
			return nil, fmt.Errorf("%s:%d: has an apiVersion: it is an object already, and a short schema has group, kind and spec",
				r.file, root.Content[i].Line)
		}
	}
	r.given = r.mapping(root, "", keys)
	r.types = r.mapping(r.given["types"].value, "types", nil)
	for _, name := range slices.Sorted(maps.Keys(r.types)) {
		if _, err := r.custom(name); err != nil {
			r.failf(r.types[name].path, "%w", err)
		}
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	r.names(&crd.Spec)
	version := apiextensionsv1.CustomResourceDefinitionVersion{
		Name: cmp.Or(r.text("version"), "v1"), Served: true, Storage: true,
		Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: r.root()},
		Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
	}
	if problems := validation.IsDNS1035Label(version.Name); len(problems) > 0 {
		r.failf("version", "%s: must be like v1 or v1alpha1", version.Name)
	}
	r.columns(&version)
	r.scale(&version)
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{version}
	if len(r.errs) > 0 {
		return nil, errors.Join(r.errs...)
	}
	return r.write(crd)
}

// names reads the names of the kind and of its resource.
func (r *reader) names(spec *apiextensionsv1.CustomResourceDefinitionSpec) {
	spec.Group, spec.Names.Kind = r.text("group"), r.text("kind")
	if spec.Group == "" {
		r.failf("group", "is missing: it must be a domain of yours, like apps.example.com")
	} else if err := CheckGroup(spec.Group); err != nil {
		r.failf("group", "%w", err)
	}
	if err := CheckKind(spec.Names.Kind); err != nil {
		r.failf("kind", "%w", err)
	}
	plural, singular := ResourceNames(spec.Names.Kind)
	spec.Names.Plural, spec.Names.Singular = cmp.Or(r.text("plural"), plural), cmp.Or(r.text("singular"), singular)
	spec.Names.ShortNames, spec.Names.Categories = r.texts("shortNames"), r.texts("categories")
	scopes := []string{string(apiextensionsv1.NamespaceScoped), string(apiextensionsv1.ClusterScoped)}
	scope := cmp.Or(r.text("scope"), scopes[0])
	if !slices.Contains(scopes, scope) {
		r.failf("scope", "%s: must be %s", scope, strings.Join(scopes, " or "))
	}
	spec.Scope = apiextensionsv1.ResourceScope(scope)
}

// text returns the text of a key, or "".
func (r *reader) text(key string) string {
	e, is := r.given[key]
	if is && (e.value.Kind != yaml.ScalarNode || e.value.Tag != "!!str") {
		r.failf(key, "must be a text")
	}
	if !is || e.value.Kind != yaml.ScalarNode {
		return ""
	}
	return e.value.Value
}

// texts returns the texts of a key that has a list.
func (r *reader) texts(key string) []string {
	var all []string
	if e, is := r.given[key]; is && e.value.Decode(&all) != nil {
		r.failf(key, "must be a list, such as [a, b]")
	}
	return all
}

// root returns the schema of the objects.
func (r *reader) root() *apiextensionsv1.JSONSchemaProps {
	root := &apiextensionsv1.JSONSchemaProps{
		Type: "object", Description: r.text("description"), Properties: map[string]apiextensionsv1.JSONSchemaProps{},
	}
	for _, name := range []string{"metadata", "spec", "status"} {
		p := &property{schema: apiextensionsv1.JSONSchemaProps{Type: "object"}}
		if e, is := r.given[name]; is {
			p = r.property(e.value, name)
		} else if name == "metadata" {
			continue
		}
		if p.schema.Type != "object" && len(r.errs) == 0 {
			r.failf(name, "must be an object")
		}
		switch name {
		case "spec":
			if p.required = p.required || len(p.schema.Required) > 0 && p.schema.Default == nil; p.required {
				root.Required = []string{name}
			} else if p.schema.Default == nil { // Hooks need not ask whether there is one.
				p.schema.Default = &apiextensionsv1.JSON{Raw: []byte("{}")}
			}
		case "status":
			p.schema.Default = nil // It is there when the host has written it.
			if err := standardStatus(&p.schema); err != nil {
				r.failf(name, "%w", err)
			}
		}
		root.Properties[name] = p.schema
	}
	return root
}

// CheckGroup returns an error for a group that the API server keeps for Kubernetes, or that is no domain.
func CheckGroup(group string) error {
	if problems := validation.IsDNS1123Subdomain(group); len(problems) > 0 {
		return errors.New(problems[0])
	}
	domain := "." + group
	if !strings.Contains(group, ".") || strings.HasSuffix(domain, ".k8s.io") || strings.HasSuffix(domain, ".kubernetes.io") {
		return errors.New("must be a domain of yours, like apps.example.com")
	}
	return nil
}

var kindPattern = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)

// CheckKind returns an error for what is no name of a kind.
func CheckKind(kind string) error {
	if !kindPattern.MatchString(kind) {
		return errors.New("must be letters and digits, the first a capital, like WebApp")
	}
	return nil
}

var (
	endsInIES = regexp.MustCompile(`[^aeiou]y$`)
	endsInES  = regexp.MustCompile(`(s|x|z|ch|sh)$`)
)

// ResourceNames returns the names of a kind's resource, unless others are given. The guess of the API machinery makes gatewaies of Gateway.
func ResourceNames(kind string) (plural, singular string) {
	singular = strings.ToLower(kind)
	switch {
	case endsInIES.MatchString(singular):
		return strings.TrimSuffix(singular, "y") + "ies", singular
	case endsInES.MatchString(singular):
		return singular + "es", singular
	default:
		return singular + "s", singular
	}
}
