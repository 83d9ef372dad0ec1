package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
)

// programs holds the programs that this worker has compiled. The host decides which to keep.
type programs struct {
	definitions func() []engines.Definition
	engines     map[string]engines.Engine
	loaded      map[string]engines.Program
}

func (p *programs) evict(names []string) {
	for _, name := range names {
		delete(p.loaded, name)
	}
}

func (p *programs) load(ctx context.Context, name string, load protocol.Load) error {
	engine, err := p.engine(load.Engine)
	if err != nil {
		return err
	}
	program, err := engine.Compile(ctx, engines.Source{Hook: load.Hook, Script: &load.Script})
	if err != nil {
		return err
	}
	if p.loaded == nil {
		p.loaded = map[string]engines.Program{}
	}
	p.loaded[name] = program
	return nil
}

func (p *programs) get(name string) (engines.Program, error) {
	if program, ok := p.loaded[name]; ok {
		return program, nil
	}
	return nil, errors.New("the worker was not given this program: please report this as a bug of libretto")
}

// cachedBytes returns the memory of what engines keep for programs to come.
func (p *programs) cachedBytes() int64 {
	bytes := int64(0)
	for _, engine := range p.engines {
		if keeping, ok := engine.(interface{ CachedBytes() int64 }); ok {
			bytes += keeping.CachedBytes()
		}
	}
	return bytes
}

// engine returns the engine with that name. It starts the engine on first use.
func (p *programs) engine(name string) (engines.Engine, error) {
	if engine, ok := p.engines[name]; ok {
		return engine, nil
	}
	for _, d := range p.definitions() {
		if d.Name != name {
			continue
		}
		engine, err := d.New(engines.Config{})
		if err != nil {
			return nil, fmt.Errorf("engine %q: %w", name, err)
		}
		if p.engines == nil {
			p.engines = map[string]engines.Engine{}
		}
		p.engines[name] = engine
		return engine, nil
	}
	return nil, fmt.Errorf("the worker has no engine %q: please report this as a bug of libretto", name)
}
