// Package sandbox runs script engines in worker processes, so that a script can
// neither stop the host nor read what is its, whatever the engine lets it do.
//
// A worker is the same binary, started anew with worker.Argument; main and TestMain
// call worker.Main first of all. It is confined as far as the system lets it be (see
// package confine), and runs one call at a time. The host keeps the sources, sends a
// program to a worker that does not have it, kills what does not end in time, and
// replaces what died, by a spare that is kept warm. Nothing of a script is parsed or
// run in the host.
package sandbox

import (
	"errors"
	"hash/maphash"
	"runtime"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/libretto-k8s/libretto/engines"
)

var errClosed = errors.New("the script workers have been stopped")

// Config says how many workers to run, and how. Its zero value is ready to use.
type Config struct {
	// Workers is how many calls run at once, by default one for each processor and at
	// least two. One more process is kept as a spare, which stands in for a worker that
	// died, and runs calls of an owner that has no worker while others have them all.
	Workers int
	// Grace is how long after the end of its context a call may still answer before
	// its worker is killed, by default half a second.
	Grace time.Duration
	// WithoutSeccomp leaves the filter of system calls out, for systems on which it goes wrong.
	WithoutSeccomp bool
	// Command is what to start as a worker, with its arguments, by default this binary.
	Command []string
	// Now is the breaker's clock, by default the time of day.
	Now func() time.Time
	// Metrics may be nil.
	Metrics *Metrics
	// Log is told of workers that end otherwise than by the host's will. Zero is silent.
	Log logr.Logger
}

func (c Config) withDefaults() Config {
	if c.Workers <= 0 {
		c.Workers = max(2, runtime.GOMAXPROCS(0))
	}
	if c.Grace <= 0 {
		c.Grace = 500 * time.Millisecond
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if len(c.Command) == 0 {
		c.Command = ownCommand()
	}
	if c.Log.GetSink() == nil {
		c.Log = logr.Discard()
	}
	return c
}

// Pool is a set of workers. It is used by many goroutines at once.
type Pool struct {
	config  Config
	breaker *breaker
	hash    maphash.Seed

	mu        sync.Mutex
	queue     *queue
	processes map[*process]bool // Whether each is idle.
	starting  int
	closed    bool
	told      bool // Whether the log knows what is in force.
	backoff   backoff
	ending    sync.WaitGroup
}

// New gives a pool, which starts a first worker in the background.
func New(config Config) *Pool {
	config = config.withDefaults()
	p := &Pool{config: config, breaker: newBreaker(config.Now), hash: maphash.MakeSeed(), queue: newQueue(), processes: map[*process]bool{}}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replenish()
	return p
}

// Close ends all workers, and the calls that run in them. Later calls fail.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	for _, w := range p.queue.drain() {
		w.got <- granted{err: errClosed}
	}
	for process := range p.processes {
		process.kill(becauseClosed)
	}
	p.mu.Unlock()
	p.ending.Wait()
}

// Definitions gives engines of the same names that run those of the list in workers. The
// workers must have been given the same list.
func (p *Pool) Definitions(of []engines.Definition) []engines.Definition {
	definitions := make([]engines.Definition, len(of))
	for i, d := range of {
		name := d.Name
		d.New = func(engines.Config) (engines.Engine, error) { return &engine{pool: p, name: name}, nil }
		definitions[i] = d
	}
	return definitions
}
