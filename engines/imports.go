package engines

import (
	"context"
	"slices"
)

// HookImports is the hook of programs that are not run: they answer with the paths of the files that the script consists of, which are
// its own, what it imports, and what was read to resolve imports. Every engine of scripts compiles such programs.
const HookImports = "imports"

// NewImports returns a program for HookImports.
func NewImports(paths []string, warnings []*Error) Program {
	return &imports{paths: slices.Compact(slices.Sorted(slices.Values(paths))), warnings: warnings}
}

type imports struct {
	ProgramBase
	paths    []string
	warnings []*Error
}

// Run returns the paths.
func (p *imports) Run(context.Context, Call) (Response, error) {
	body := make([]any, len(p.paths))
	for i, path := range p.paths {
		body[i] = path
	}
	return Response{Body: body}, nil
}

// Warnings returns the warnings of the script.
func (p *imports) Warnings() []*Error { return p.warnings }
