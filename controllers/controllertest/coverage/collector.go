// Package coverage collects which statements and branches of scripts tests reach, and reports it.
package coverage

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/libretto-k8s/libretto/engines"
)

// Collector collects the coverage of the calls of programs. It may be used by several goroutines at once.
type Collector struct {
	mu       sync.Mutex
	programs []*program
}

// Watch returns the programs so that their calls are collected. Those without coverage stay as they are. Places are to be in the author's
// files: programs of several definitions may have a file in common.
func (c *Collector) Watch(programs map[string]engines.Program) map[string]engines.Program {
	watched := make(map[string]engines.Program, len(programs))
	for hook, p := range programs {
		watched[hook] = c.watch(p)
	}
	return watched
}

func (c *Collector) watch(p engines.Program) engines.Program {
	points := p.CoveragePoints()
	if points == nil {
		return p
	}
	watched := &program{Program: p, points: points, calls: make([]int, len(points))}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.programs = append(c.programs, watched)
	return watched
}

// program is a program whose calls are collected.
type program struct {
	engines.Program
	points []engines.CoveragePoint

	mu    sync.Mutex
	calls []int // that reached each point
}

// Run runs the program, and collects what the call reached even if it failed.
func (p *program) Run(ctx context.Context, call engines.Call) (engines.Response, error) {
	response, err := p.Program.Run(ctx, call)
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.calls {
		if response.Coverage.Has(i) {
			p.calls[i]++
		}
	}
	return response, err
}

// Report returns what the calls so far reached, by file and place.
func (c *Collector) Report() *Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := merger{}
	for _, p := range c.programs {
		p.mu.Lock()
		for i, point := range p.points {
			point.Location.File = filepath.ToSlash(filepath.Clean(point.Location.File))
			m.add(point, p.calls[i])
		}
		p.mu.Unlock()
	}
	return m.report()
}
