// Package scaffold implements libretto init: it makes the files of a new controller, which are a definition, its script, and a test
// that passes. They are templates, one folder for each kind of definition, which are what a newcomer reads first.
package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/crd"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

//go:embed templates
var templates embed.FS

// Variants are the kinds of definition: composite, decorator and map.
var Variants = []string{"composite", "decorator", "map"}

// Languages are the languages of scripts, which are those of the templates: each is the first part of the extension of its files.
var Languages = slices.Sorted(maps.Keys(extensions))

// extensions are those of scripts, by the language.
var extensions = extensionsOf("composite")

// extensionsOf returns the extensions of the scripts among the templates of a variant.
func extensionsOf(variant string) map[string]string {
	found := map[string]string{}
	entries, err := templates.ReadDir("templates/" + variant)
	if err != nil {
		panic(err) // The templates are compiled in.
	}
	for _, entry := range entries {
		if extension, is := strings.CutPrefix(entry.Name(), variants[variant].script); is {
			language, _, _ := strings.Cut(extension[1:], ".")
			found[language] = extension
		}
	}
	return found
}

// Options describe the controller. What is empty gets a default.
type Options struct {
	// Variant is one of Variants, and Language one of Languages.
	Variant, Language string
	// Name is that of the definition.
	Name string
	// Kind is that of the parent, and Group its API group. A decorator has no kind of its own: Group is the prefix of its annotation.
	Kind, Group string
	// Program is how users call the program.
	Program string
}

// File is a file of the controller. Its name is relative to the folder.
type File struct {
	Name string
	Text []byte
}

// Controller is what is made. Its fields are for the templates too.
type Controller struct {
	Options
	// Definition is the kind of the definition.
	Definition string
	// Plural and Singular are the names of the parent's resource.
	Plural, Singular string
	// Script is the name of the script's file.
	Script string
	// Files are in the order of their names.
	Files []File
}

// defaults are what a variant has in its own way.
type defaults struct {
	// definition is the kind of the definition.
	definition string
	// name and kind are used if none is given.
	name, kind string
	// script is the name of the script's file without its extension.
	script string
	// about and example are for the README.
	about, example string
}

var variants = map[string]defaults{
	"composite": {
		definition: v1alpha1.CompositeControllerKind,
		name:       "webapp", kind: "WebApp", script: "sync",
		about:   "A CompositeController: %s %s has a Deployment and a Service.",
		example: "%s %s",
	},
	"decorator": {
		definition: v1alpha1.DecoratorControllerKind,
		name:       "budgets", script: "hooks",
		about:   "A DecoratorController: a Deployment with an annotation has a PodDisruptionBudget.",
		example: "a Deployment",
	},
	"map": {
		definition: v1alpha1.MapControllerKind,
		name:       "podquota", kind: "PodQuota", script: "map",
		about:   "A MapController: %s %s selects Namespaces, and each has a ResourceQuota.",
		example: "%s %s with Namespaces",
	},
}

// New returns the controller that the options describe, or an error that says which option is wrong.
func New(o Options) (*Controller, error) {
	c, err := complete(o)
	if err != nil {
		return nil, err
	}
	files := map[string]string{
		"README.md": "README.md", "kustomization.yaml": "kustomization.yaml",
		"definition.yaml": c.template("definition.yaml"), "example.yaml": c.template("example.yaml"),
		c.Name + "_test.yaml": c.template("test.yaml"), c.Script: c.template(c.Script),
	}
	if c.Kind != "" {
		files[schemaFile] = c.template(schemaFile)
	}
	for name, from := range files {
		text, err := c.execute(from)
		if err != nil {
			return nil, err
		}
		c.Files = append(c.Files, File{name, text})
		if name != schemaFile {
			continue
		}
		made, err := crd.Make(schemaFile, text)
		if err != nil {
			return nil, err
		}
		c.Files = append(c.Files, File{"crd.yaml", made})
	}
	slices.SortFunc(c.Files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return c, nil
}

// schemaFile is the name of the file with the short schema of the kind, of which crd.yaml is made.
const schemaFile = "schema.yaml"

func (c *Controller) template(name string) string { return c.Variant + "/" + name }

// execute fills a template in.
func (c *Controller) execute(name string) ([]byte, error) {
	t, err := template.New(path.Base(name)).Option("missingkey=error").ParseFS(templates, "templates/"+name)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := t.Execute(&text, c); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// complete checks the options and fills in what is empty.
func complete(o Options) (*Controller, error) {
	d, known := variants[o.Variant]
	switch {
	case !known:
		return nil, fmt.Errorf("init %s: name one of %s, and then the controller: init %s %[1]s",
			o.Variant, strings.Join(Variants, ", "), Variants[0])
	case !slices.Contains(Languages, o.Language):
		return nil, fmt.Errorf("--lang %s: there are %s", o.Language, strings.Join(Languages, ", "))
	case o.Kind != "" && d.kind == "":
		return nil, fmt.Errorf("--kind %s: a decorator has no kind of its own: edit spec.resources of its definition", o.Kind)
	}
	made := o.Kind == "" && o.Name != "" && d.kind != ""
	if o.Kind == "" && o.Name == "" {
		o.Kind = d.kind
	} else if made {
		o.Kind = kindFor(o.Name)
	}
	if o.Name == "" && o.Kind != d.kind {
		o.Name = strings.ToLower(o.Kind)
	} else if o.Name == "" {
		o.Name = d.name
	}
	if o.Group == "" {
		o.Group = "example.com"
	}
	if problems := validation.IsDNS1123Label(o.Name); len(problems) > 0 {
		return nil, fmt.Errorf("name %s: %s", o.Name, problems[0])
	}
	if err := crd.CheckGroup(o.Group); err != nil {
		return nil, fmt.Errorf("--group %s: %w", o.Group, err)
	}
	c := &Controller{Options: o, Definition: d.definition, Script: d.script + extensions[o.Language]}
	if o.Kind == "" {
		return c, nil
	}
	if err := checkKind(o.Kind); err != nil && made {
		return nil, fmt.Errorf("name %s: the kind would be %s, which %w: choose another with --kind", o.Name, o.Kind, err)
	} else if err != nil {
		return nil, fmt.Errorf("--kind %s: %w", o.Kind, err)
	}
	c.Plural, c.Singular = crd.ResourceNames(o.Kind)
	return c, nil
}

// takenKinds are kinds that the templates have objects of, and names of types of hooks.
var takenKinds = []string{
	"Deployment", "Service", "Namespace", "ResourceQuota", "PodDisruptionBudget", "List",
	"SyncRequest", "SyncResponse", "FinalizeRequest", "FinalizeResponse", "CustomizeRequest", "CustomizeResponse", "MapRequest", "MapResponse",
}

// checkKind returns an error for a kind that can't be the parent's.
func checkKind(kind string) error {
	if err := crd.CheckKind(kind); err != nil {
		return err
	}
	plural, _ := crd.ResourceNames(kind)
	switch {
	case len(plural) > validation.DNS1123LabelMaxLength:
		return fmt.Errorf("must be shorter: its plural may have %d characters", validation.DNS1123LabelMaxLength)
	case slices.Contains(takenKinds, kind):
		return errors.New("must be a name of its own: Kubernetes or the types of hooks have it")
	default:
		return nil
	}
}

// kindFor returns a kind for the name of a definition: WebShop for web-shop.
func kindFor(name string) string {
	var kind strings.Builder
	for part := range strings.SplitSeq(name, "-") {
		if part != "" {
			kind.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return kind.String()
}

// About returns a sentence about what the controller does.
func (c *Controller) About() string { return c.phrase(variants[c.Variant].about) }

// Example returns what is in the file with the example.
func (c *Controller) Example() string { return c.phrase(variants[c.Variant].example) }

func (c *Controller) phrase(format string) string {
	if c.Kind == "" {
		return format
	}
	return fmt.Sprintf(format, c.Article(), c.Kind)
}

// Article returns the indefinite article of the kind.
func (c *Controller) Article() string {
	if strings.ContainsAny(c.Kind[:1], "AEIO") {
		return "an"
	}
	return "a"
}
