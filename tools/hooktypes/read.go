package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// declaration is one type. A type that is no struct has an alias: its declaration in TypeScript.
type declaration struct {
	name, doc, alias string
	hooks            []string // of which it is the request
	parameters       []string // as TypeScript declares them
	fields           []field
}

// field is one field of a struct. Its key is empty for the field that holds all other keys.
type field struct {
	key, doc, kind string
	optional       bool
	parameter      string
	// instead is the key of the field in whose place it stands: exactly one of the two is there.
	instead string
}

// reader holds the types of a package by name.
type reader struct {
	order  []string
	types  map[string]*ast.TypeSpec
	docs   map[string]*ast.CommentGroup
	parts  map[string]bool // structs that are embedded in others
	failed error
}

// read returns the types of the package in a directory, in the order of its files, without
// those that are embedded in others.
func read(directory string) ([]declaration, error) {
	paths, err := filepath.Glob(filepath.Join(directory, "*.go"))
	if err != nil {
		return nil, err
	}
	r := &reader{types: map[string]*ast.TypeSpec{}, docs: map[string]*ast.CommentGroup{}, parts: map[string]bool{}}
	for _, path := range paths {
		if err := r.file(path); err != nil {
			return nil, err
		}
	}
	var all []declaration
	for _, name := range r.order {
		all = append(all, r.declaration(name))
	}
	if len(all) == 0 && r.failed == nil {
		r.failed = fmt.Errorf("%s: no types", directory)
	}
	return slices.DeleteFunc(all, func(d declaration) bool { return r.parts[d.name] }), r.failed
}

func (r *reader) file(path string) error {
	if strings.HasSuffix(path, "_test.go") {
		return nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, d := range file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.TYPE {
			continue
		}
		for _, spec := range group.Specs {
			named := spec.(*ast.TypeSpec)
			r.order = append(r.order, named.Name.Name)
			r.types[named.Name.Name] = named
			r.docs[named.Name.Name] = group.Doc
		}
	}
	return nil
}

func (r *reader) declaration(name string) declaration {
	d := declaration{name: name, doc: r.docs[name].Text()}
	if hooks := r.directive(name, hooksDirective); hooks != "" {
		d.hooks = strings.Split(hooks, ",")
	}
	structure, ok := r.types[name].Type.(*ast.StructType)
	if !ok {
		d.alias = r.alias(name)
		return d
	}
	for _, f := range r.fields(name, structure) {
		d.addField(f)
	}
	return d
}

// addField appends a field, with its type parameter.
func (d *declaration) addField(f field) {
	d.fields = append(d.fields, f)
	if f.parameter != "" && !slices.Contains(d.parameters, f.parameter) {
		d.parameters = append(d.parameters, f.parameter)
	}
}

const (
	// aliasDirective is the prefix of the comment that declares a type in TypeScript.
	aliasDirective = "//typescript:"
	// hooksDirective is the prefix of the comment that names the hooks of a request.
	hooksDirective = "//hooks:"
)

// directive returns the text of the comment with that prefix on a type, or "".
func (r *reader) directive(name, prefix string) string {
	if doc := r.docs[name]; doc != nil {
		for _, comment := range doc.List {
			if text, ok := strings.CutPrefix(comment.Text, prefix); ok {
				return text
			}
		}
	}
	return ""
}

func (r *reader) alias(name string) string {
	if text := r.directive(name, aliasDirective); text != "" {
		return text
	}
	r.failf("%s: is not a struct, and has no comment %stype", name, aliasDirective)
	return ""
}

// fields returns the fields of a struct, with those of embedded structs.
func (r *reader) fields(of string, structure *ast.StructType) []field {
	var all []field
	for _, f := range structure.Fields.List {
		if len(f.Names) > 0 {
			all = append(all, r.field(of, f))
			continue
		}
		part, _ := f.Type.(*ast.Ident)
		if part == nil || r.types[part.Name] == nil {
			r.failf("%s: embeds a struct of another package", of)
			return nil
		}
		inner, _ := r.types[part.Name].Type.(*ast.StructType)
		r.parts[part.Name] = true
		all = append(all, r.fields(part.Name, inner)...)
	}
	return all
}

func (r *reader) field(of string, f *ast.Field) field {
	name := f.Names[0].Name
	if f.Tag == nil {
		r.failf("%s.%s: has no tags", of, name)
		return field{}
	}
	text, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		r.failf("%s.%s: %v", of, name, err)
	}
	tags := reflect.StructTag(text)
	key, options, _ := strings.Cut(tags.Get("json"), ",")
	if key == "" && options != "inline" {
		r.failf("%s.%s: has no json tag with a name", of, name)
	}
	doc := f.Doc.Text()
	if rest, ok := strings.CutPrefix(doc, name+" "); ok && key != "" {
		doc = key + " " + rest
	}
	if doc == "" {
		r.failf("%s.%s: has no comment", of, name)
	}
	kind := tags.Get("typescript")
	if rest, ok := f.Type.(*ast.MapType); ok && key == "" {
		kind = r.kind(of, rest.Value)
	} else if kind == "" {
		kind = r.kind(of, f.Type)
	}
	return field{
		key: key, doc: doc, kind: kind, optional: options == "omitempty", parameter: tags.Get("parameter"), instead: tags.Get("instead"),
	}
}

var plainKinds = map[string]string{"string": "string", "bool": "boolean", "int64": "number", "float64": "number", "any": "any"}

// kind returns a Go type in TypeScript.
func (r *reader) kind(of string, t ast.Expr) string {
	switch t := t.(type) {
	case *ast.Ident:
		if plain := plainKinds[t.Name]; plain != "" {
			return plain
		}
		if r.types[t.Name] != nil {
			return t.Name
		}
	case *ast.StarExpr:
		if named, ok := t.X.(*ast.Ident); ok && r.types[named.Name] != nil {
			return named.Name
		}
		return r.kind(of, t.X) + " | null"
	case *ast.ArrayType:
		return r.kind(of, t.Elt) + "[]"
	case *ast.MapType:
		return "{ [key: string]: " + r.kind(of, t.Value) + " }"
	}
	r.failf("%s: has a field of a type that hooktypes does not know: write a tag typescript", of)
	return ""
}

func (r *reader) failf(format string, args ...any) {
	if r.failed == nil {
		r.failed = fmt.Errorf(format, args...)
	}
}
