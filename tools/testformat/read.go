package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// reader holds the types and constants of a package.
type reader struct {
	types map[string]*ast.TypeSpec
	docs  map[string]string
	// constants are the values of constants without a type, by name, and values those of named types, by type, in order.
	constants map[string]string
	values    map[string][]value
}

// value is a constant of a named type.
type value struct{ text, doc string }

// field is a field of a struct. An inline one has no key.
type field struct {
	key, doc string
	kind     ast.Expr
	required bool
}

// read returns the types of the package in a directory.
func read(directory string) (*reader, error) {
	paths, err := filepath.Glob(filepath.Join(directory, "*.go"))
	if err != nil {
		return nil, err
	}
	r := &reader{types: map[string]*ast.TypeSpec{}, docs: map[string]string{}, constants: map[string]string{}, values: map[string][]value{}}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			if group, ok := d.(*ast.GenDecl); ok {
				r.group(group)
			}
		}
	}
	if r.types[rootType] == nil {
		return nil, fmt.Errorf("%s: there is no type %s", directory, rootType)
	}
	return r, nil
}

func (r *reader) group(group *ast.GenDecl) {
	for _, spec := range group.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			r.types[spec.Name.Name], r.docs[spec.Name.Name] = spec, group.Doc.Text()
		case *ast.ValueSpec:
			r.constant(group.Tok, spec)
		}
	}
}

func (r *reader) constant(kind token.Token, spec *ast.ValueSpec) {
	if kind != token.CONST || len(spec.Names) != 1 || len(spec.Values) != 1 {
		return
	}
	literal, ok := spec.Values[0].(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return
	}
	text, err := strconv.Unquote(literal.Value)
	if err != nil {
		return
	}
	name := spec.Names[0].Name
	if named, ok := spec.Type.(*ast.Ident); ok {
		doc := strings.TrimPrefix(spec.Doc.Text(), name+" is ")
		r.values[named.Name] = append(r.values[named.Name], value{text, doc})
	} else {
		r.constants[name] = text
	}
}

// fields returns the fields of a struct, in order.
func (r *reader) fields(name string) ([]field, error) {
	structure, ok := r.types[name].Type.(*ast.StructType)
	if !ok {
		return nil, fmt.Errorf("%s is no struct", name)
	}
	var all []field
	for _, f := range structure.Fields.List {
		if len(f.Names) > 0 && !f.Names[0].IsExported() {
			continue
		}
		tag := ""
		if f.Tag != nil {
			text, err := strconv.Unquote(f.Tag.Value)
			if err != nil {
				return nil, err
			}
			tag = reflect.StructTag(text).Get("json")
		}
		key, options, _ := strings.Cut(tag, ",")
		if key == "-" {
			continue
		}
		if key == "" && options != "inline" {
			return nil, fmt.Errorf("%s: has a field without a json tag with a name", name)
		}
		doc := f.Doc.Text()
		if len(f.Names) > 0 {
			if rest, ok := strings.CutPrefix(doc, f.Names[0].Name+" "); ok {
				doc = key + " " + rest
			}
		}
		all = append(all, field{key: key, doc: prose(doc), kind: f.Type, required: key != "" && !strings.Contains(options, "omit")})
	}
	return all, nil
}

// typeName returns a type as Go writes it.
func typeName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.SelectorExpr:
		return typeName(t.X) + "." + t.Sel.Name
	case *ast.ArrayType:
		return "[]" + typeName(t.Elt)
	case *ast.MapType:
		return "map[" + typeName(t.Key) + "]" + typeName(t.Value)
	default:
		return fmt.Sprintf("%T", t)
	}
}

// prose joins the lines of a comment.
func prose(doc string) string { return strings.Join(strings.Fields(doc), " ") }
