package sandbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

const (
	defaultMemory = 256 << 20
	minMemory     = 64 << 20
	maxMemory     = 1 << 30
	// defaultTimeout is how much time of its own a worker has for a question whose context has no limit.
	defaultTimeout = 30 * time.Second
)

// engine runs the scripts of the engine called name in workers.
type engine struct {
	pool *Pool
	name string
}

// program is a source that compiled. It is sent to workers when they need it.
type program struct {
	pool   *Pool
	name   string // A hash of the engine, hook, script and trust domain.
	engine string
	hook   string
	script engines.Script
	memory int64
	domain string
	// next is what follows a question about the program. It changes once the program is compiled.
	next expectation
	// files are those of the script, by path, and largest is the content of the largest of them.
	files   []sourceFile
	largest content
	// used are the files that the program consists of, once it has compiled. Nil means all.
	used atomic.Pointer[usedFiles]
	// warnings come from the worker that compiled the program.
	warnings []*engines.Error
	// points come from it too, if the script asks for coverage.
	points []engines.CoveragePoint
	// outline comes from it as well, if the script asks for it. loadOutline asks for it later.
	outline     *engines.Outline
	loadOutline func(context.Context) (*engines.Outline, error)
}

// Compile has a worker compile the source. That worker then keeps the program.
func (e *engine) Compile(ctx context.Context, src engines.Source) (engines.Program, error) {
	p, err := e.newProgram(src)
	if err != nil {
		return nil, err
	}
	e.pool.raiseMemory(p.memory)
	if p.next = expectsNothing; src.More {
		p.next = expectsLoad
	}
	answer, err := p.pool.run(ctx, p, task{owner: cmp.Or(src.Owner, p.name), kind: protocol.KindLoad})
	if err != nil {
		return nil, err
	}
	p.next, p.warnings = expectsAny, answer.Warnings
	if err := p.setPoints(answer.Points); err != nil {
		return nil, err
	}
	if p.script.Outline {
		if p.outline, err = readOutline(answer); err != nil {
			return nil, err
		}
	}
	p.loadOutline = func(ctx context.Context) (*engines.Outline, error) { return e.loadOutline(ctx, src) }
	return p, nil
}

func readOutline(answer protocol.Answer) (*engines.Outline, error) {
	outline, err := engines.UnmarshalOutline(answer.Outline)
	if err != nil {
		return nil, &engines.Error{Kind: engines.Failed, Message: fmt.Sprintf("script worker crashed: its outline can't be read: %v", err)}
	}
	return outline, nil
}

// loadOutline has a worker compile the source once more, for its outline.
func (e *engine) loadOutline(ctx context.Context, src engines.Source) (*engines.Outline, error) {
	outlined := *src.Script
	outlined.Outline, src.Script, src.More = true, &outlined, false
	p, err := e.Compile(ctx, src)
	if err != nil {
		return nil, err
	}
	return p.Outline(), nil
}

func (e *engine) newProgram(src engines.Source) (*program, error) {
	if src.Script == nil {
		return nil, engines.InvalidError(engines.Location{}, "the %s engine runs scripts, and this source is an endpoint", e.name)
	}
	p := &program{pool: e.pool, engine: e.name, hook: src.Hook, script: *src.Script, memory: memoryBudget(src.Script.MemoryBytes)}
	p.domain = e.pool.config.domainOf(src.TrustDomain)
	if err := p.setFiles(); err != nil {
		return nil, err
	}
	all := wire.NewEncoder(nil)
	all.Sorted = true
	protocol.AppendScript(all, e.name, src.Hook, *src.Script)
	if err := all.Err(); err != nil {
		return nil, engines.InvalidError(engines.Location{}, "parameters: %v", err)
	}
	for _, f := range p.files {
		all.Strings([]string{f.path, string(f.content[:])})
	}
	all.Strings([]string{p.domain})
	hash := sha256.Sum256(all.Bytes())
	p.name = string(hash[:])
	return p, nil
}

// setFiles sets the files, with the hashes of their contents.
func (p *program) setFiles() error {
	bytes, largest := 0, -1
	for _, path := range slices.Sorted(maps.Keys(p.script.Files)) {
		text := p.script.Files[path]
		if bytes += len(path) + len(text); bytes > protocol.MaxSourceBytes {
			return engines.InvalidError(engines.Location{},
				"the files of this definition, and their paths, hold more than the %d bytes allowed", protocol.MaxSourceBytes)
		}
		f := sourceFile{path: path, content: contentOf(text)}
		if p.files = append(p.files, f); len(text) > largest {
			largest, p.largest = len(text), f.content
		}
	}
	return nil
}

func memoryBudget(memory int64) int64 {
	if memory == 0 {
		return defaultMemory
	}
	return min(max(memory, minMemory), maxMemory)
}

// raiseMemory has workers that are started from now on allow for programs with that memory limit.
func (p *Pool) raiseMemory(limit int64) {
	for before := p.largestMemory.Load(); limit > before; before = p.largestMemory.Load() {
		if p.largestMemory.CompareAndSwap(before, limit) {
			return
		}
	}
}

// CircuitOpen returns the error that all calls get because the program can't be loaded, or nil. What calls
// do to their workers does not matter.
func (p *program) CircuitOpen() *engines.Error {
	return p.pool.loads.openError(circuit{program: p.name})
}

// Warnings returns the warnings of the compilation.
func (p *program) Warnings() []*engines.Error { return p.warnings }

// setPoints keeps the points that a worker sent. It returns an error if they are of other files than the script's.
func (p *program) setPoints(points []engines.CoveragePoint) error {
	if !p.script.Coverage {
		return nil
	}
	for _, point := range points {
		if _, known := p.script.Files[point.Location.File]; !known {
			return &engines.Error{Kind: engines.Failed, Message: "script worker crashed: it counts a file that the script does not have"}
		}
	}
	p.points = points
	return nil
}

// CoveragePoints returns the points that the worker which compiled the program found.
func (p *program) CoveragePoints() []engines.CoveragePoint { return p.points }

// Outline returns the outline that the worker sent.
func (p *program) Outline() *engines.Outline { return p.outline }

// LoadOutline returns the outline, which a worker makes if it was not asked for before.
func (p *program) LoadOutline(ctx context.Context) (*engines.Outline, error) {
	if p.script.Outline {
		return p.outline, nil
	}
	return p.loadOutline(ctx)
}

// Run has a worker answer the call.
func (p *program) Run(ctx context.Context, call engines.Call) (engines.Response, error) {
	answer, err := p.pool.run(ctx, p, task{owner: cmp.Or(call.Owner, p.name), kind: protocol.KindCall, call: call})
	if len(p.points) == 0 {
		answer.Response.Coverage = nil
	}
	return answer.Response, err
}
