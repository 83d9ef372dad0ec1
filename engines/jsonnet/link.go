package jsonnet

import (
	"context"
	"maps"
	"slices"
	"sync"

	vm "github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/lru"
)

// linked is a script and all that it imports. Files are parsed when a call first evaluates them, unless the cache has them.
type linked struct {
	entry string
	tree  tree
	cache *cache
	// files are the keys in the cache of all code that the entry imports, and of what that does, in the order of order.
	files map[string]lru.Key
	order []string
	// found are the targets of their imports.
	found map[importOf]string
	// missing are the imports of missing files, which are errors where they are evaluated.
	missing []*engines.Error
	// coverage is nil unless the script asks for it. Then counted are the files that it counts in: its own, not the cache's.
	coverage *coverage
	counted  map[string]*parsed

	mu sync.Mutex // Guards texts.
	// texts are the files of importstr and importbin. The VM's copy is made when it is first needed.
	texts map[string]*vm.Contents
}

// importOf is an import, and the file that it is in.
type importOf struct {
	importer, imported string
	ofCode             bool
}

// link finds all that the script's entry imports, and parses the files that are not known to parse. The error has kind Invalid,
// with the place, or is that of Ended.
func link(ctx context.Context, script *engines.Script, c *cache) (*linked, error) {
	if err := script.Files.Check(script.Path); err != nil {
		return nil, err
	}
	l := &linked{
		entry: script.Path, tree: tree{script.Files}, cache: c, files: map[string]lru.Key{}, found: map[importOf]string{},
		counted: map[string]*parsed{}, texts: map[string]*vm.Contents{},
	}
	l.found[importOf{preludeFile, l.entry, true}] = l.entry
	unchecked, err := l.findAll(ctx, script.Checked)
	if err != nil {
		return nil, err
	}
	if script.Coverage {
		if err := l.countAll(ctx); err != nil {
			return nil, err
		}
		unchecked = slices.DeleteFunc(unchecked, isCode)
	}
	return l, l.check(ctx, unchecked)
}

// findAll adds the entry and all that it imports, and returns those that are not known to parse.
func (l *linked) findAll(ctx context.Context, checked map[string]bool) (unchecked []string, err error) {
	l.add(l.entry)
	for at := 0; at < len(l.order); at++ { //nolint:intrange // add appends to it.
		if ctx.Err() != nil {
			return nil, engines.Ended(ctx)
		}
		path := l.order[at]
		k, err := l.know(path, checked[path])
		if err != nil {
			return nil, err
		}
		if !k.checked {
			unchecked = append(unchecked, path)
		}
		for _, ref := range k.imports {
			l.follow(path, ref)
		}
	}
	return unchecked, nil
}

func (l *linked) add(path string) {
	if _, there := l.files[path]; !there {
		l.files[path] = contentKey(path, l.tree.text(path))
		l.order = append(l.order, path)
	}
}

// know returns what is known of a file, or can be learned without parsing it. Files of which the imports can't be are parsed.
func (l *linked) know(path string, checked bool) (known, error) {
	if value, ok := l.cache.known.Get(l.files[path]); ok {
		return value.(known), nil
	}
	imports, ok := scanImports(l.tree.text(path))
	k := known{imports: imports, checked: checked}
	if !ok {
		file, err := l.parse(path)
		if err != nil {
			return known{}, err
		}
		k = known{imports: file.imports, checked: true}
	}
	if k.checked {
		l.cache.putKnown(l.files[path], k)
	}
	return k, nil
}

// follow adds what an import asks for. One that asks for what is not there is an error only where it is evaluated: Jsonnet is lazy.
func (l *linked) follow(path string, ref importRef) {
	key := importOf{path, ref.imported, ref.ofCode}
	target, err := l.resolve(key)
	switch {
	case err != nil:
		place := engines.Location{File: path, Line: ref.line, Column: ref.column}
		l.missing = append(l.missing, engines.InvalidError(place, "%v", err))
		return
	case ref.ofCode:
		l.add(target)
	default:
		l.texts[target] = nil
	}
	l.found[key] = target
}

// resolve returns the path of what an import asks for.
func (l *linked) resolve(i importOf) (string, error) {
	if target, ok := l.found[i]; ok {
		return target, nil
	}
	if i.ofCode {
		return l.tree.module(i.importer, i.imported)
	}
	return l.tree.resolve(i.importer, i.imported)
}

// file returns a file that a call evaluates.
func (l *linked) file(path string) (*parsed, error) {
	if file, ok := l.counted[path]; ok {
		return file, nil
	}
	if file, ok := l.cache.parsed.Get(l.files[path]); ok {
		return file.(*parsed), nil
	}
	return l.parse(path)
}

// parse parses a file and keeps it.
func (l *linked) parse(path string) (*parsed, error) {
	file, err := parseFile(path, l.tree.text(path), nil)
	if err == nil {
		l.cache.parsed.Put(l.files[path], file, file.bytes)
	}
	return file, err
}

// node returns the expression of a file, or nil if it can't be parsed.
func (l *linked) node(path string) ast.Node {
	file, err := l.file(path)
	if err != nil {
		return nil
	}
	return file.node
}

// contents returns the text of a file for the VM, always the same one.
func (l *linked) contents(path string) vm.Contents {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.texts[path] == nil {
		contents := vm.MakeContents(l.tree.Files[path])
		l.texts[path] = &contents
	}
	return *l.texts[path]
}

// paths returns the paths of all files of the tree.
func (l *linked) paths() []string {
	paths := slices.Concat(l.order, slices.Collect(maps.Keys(l.texts)))
	slices.Sort(paths)
	return slices.DeleteFunc(slices.Compact(paths), func(path string) bool { return path == preludeFile })
}

// rootExpression returns the whole expression, which calls function with the value of the entry.
func (l *linked) rootExpression(function string) ast.Node {
	entry := &ast.Import{
		NodeBase: ast.NodeBase{LocRange: ast.LocationRange{FileName: preludeFile}},
		File:     &ast.LiteralString{Value: codePrefix + l.entry},
	}
	call := &ast.Apply{Target: prelude(function)}
	call.NodeBase = base(call.Target, nil)
	call.Arguments.Positional = []ast.CommaSeparatedExpr{{Expr: entry}}
	return call
}
