package lsp

import (
	"context"
	"reflect"
	"slices"

	"k8s.io/utils/lru"

	"github.com/libretto-k8s/libretto/engines"
)

// remembering returns engines that compile a source again only if something of it has changed: an edit changes one file of many.
func remembering(all []engines.Definition) []engines.Definition {
	all = slices.Clone(all)
	for i, d := range all {
		all[i].New = func(config engines.Config) (engines.Engine, error) {
			engine, err := d.New(config)
			return &memory{engine, lru.New(maxCompiled)}, err
		}
	}
	return all
}

// maxCompiled is how many hooks are remembered: each name that a definition has while it is typed is that of another.
const maxCompiled = 1000

// memory is an engine that remembers what it compiled last of each hook.
type memory struct {
	engine   engines.Engine
	compiled *lru.Cache
}

// sourceKey names a hook of a definition.
type sourceKey struct{ owner, hook, path string }

type compiled struct {
	source  engines.Script
	program engines.Program
	err     error
}

// Compile compiles a source, unless it is as the one before.
func (m *memory) Compile(ctx context.Context, src engines.Source) (engines.Program, error) {
	if src.Script == nil {
		return m.engine.Compile(ctx, src)
	}
	key := sourceKey{src.Owner, src.Hook, src.Script.Path}
	known, _ := m.compiled.Get(key)
	if before, isKnown := known.(compiled); isKnown && before.isOf(src.Script) {
		return before.program, before.err
	}
	program, err := m.engine.Compile(ctx, src)
	if ctx.Err() == nil && (err == nil || engines.KindOf(err) == engines.Invalid) {
		m.compiled.Add(key, compiled{*src.Script, program, err})
	}
	return program, err
}

// isOf reports whether a script would be compiled to the same: what is compiled depends on the names of all files, and on the content of
// those that it consists of.
func (c compiled) isOf(script *engines.Script) bool {
	before, now := c.source, *script
	before.Files, before.Checked, now.Files, now.Checked = nil, nil, nil, nil
	if len(c.source.Files) != len(script.Files) || !reflect.DeepEqual(before, now) {
		return false
	}
	var used []engines.UsedFile
	if c.err == nil {
		used = c.program.Files()
	}
	for name, text := range c.source.Files {
		now, there := script.Files[name]
		isUsed := used == nil || slices.ContainsFunc(used, func(f engines.UsedFile) bool { return f.Path == name })
		if !there || isUsed && now != text {
			return false
		}
	}
	return true
}
