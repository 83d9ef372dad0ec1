// Package sandbox runs script engines in worker processes, so that a script can neither stop the host
// nor read its memory, files or network.
//
// A worker is the program libretto-worker, or this binary, started with worker.Argument. In both, main
// calls worker.Main first, as TestMain does in tests. The worker confines itself as far as the system
// allows (see package confine) and runs one call at a time. The host keeps the sources, sends a program
// to a worker that does not have it, kills a worker that exceeds its deadline, and replaces a worker
// that exited by a spare one. Scripts are neither parsed nor run in the host.
package sandbox

import (
	"errors"
	"hash/maphash"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/confine"
	"github.com/libretto-k8s/libretto/runtime/values/lru"
)

var errClosed = errors.New("the script workers have been stopped")

// Config configures a Pool. The zero value is ready to use.
type Config struct {
	// Workers is how many calls run at once. It defaults to the number of processors, and at least two.
	// One more process is kept as a spare: it replaces a worker that exited, and runs calls of an owner
	// that has no worker while others have all of them.
	Workers int
	// Grace is how long after the end of its context a call may still answer before its worker is
	// killed. It defaults to half a second.
	Grace time.Duration
	// MaxWait is how long a call waits for a worker: who makes it has other work to do, and makes it again. A load waits for longer. It
	// defaults to half a minute.
	MaxWait time.Duration
	// IdleTimeout is after how long an idle worker is ended, but for the spare one and the one that was used last. It defaults to five
	// minutes.
	IdleTimeout time.Duration
	// ShareWorkers lets programs of different trust domains use one worker, one after another.
	ShareWorkers bool
	// WithoutSeccomp turns the system call filter off, for systems on which it does not work.
	WithoutSeccomp bool
	// Require is what must be in force in a worker. One that is confined less gets no script.
	Require confine.Requirement
	// Command is the program to start as a worker, with its arguments. It defaults to this binary.
	Command []string
	// Now is the clock of the breakers. It defaults to time.Now.
	Now func() time.Time
	// Metrics may be nil.
	Metrics *Metrics
	// Log logs workers that exit without being killed by the host. It defaults to a logger that
	// discards.
	Log logr.Logger
}

func (c Config) withDefaults() Config {
	c.Workers = MaxProcesses(c.Workers) - 1
	if c.Grace <= 0 {
		c.Grace = 500 * time.Millisecond
	}
	if c.MaxWait <= 0 {
		c.MaxWait = 30 * time.Second
	}
	if c.IdleTimeout <= 0 {
		c.IdleTimeout = 5 * time.Minute
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if len(c.Command) == 0 {
		c.Command = defaultCommand()
	}
	if c.Log.GetSink() == nil {
		c.Log = logr.Discard()
	}
	return c
}

// MaxProcesses returns how many processes a Pool with that Config.Workers has at most, with the spare one.
func MaxProcesses(workers int) int {
	if workers <= 0 {
		workers = max(2, runtime.GOMAXPROCS(0))
	}
	return workers + 1
}

// Pool is a set of workers. It is safe for concurrent use.
type Pool struct {
	config Config
	// loads has the programs that end workers while they are loaded, calls the objects that do so when a
	// program is called for them.
	loads, calls *breaker
	probation    *probation
	// checked has the contents of files that engines have checked, by trust domain.
	checked *lru.Cache
	hash    maphash.Seed
	// largestMemory is the largest memory limit of a program so far, and at least the default.
	largestMemory atomic.Int64

	mu                sync.Mutex
	queue             *queue
	processes         map[*process]bool // The value is true if the worker is idle.
	starting          int
	startTakes        time.Duration // On an average of the last ones.
	dispatchAt        time.Time     // When dispatch is called next, if nothing happens until then, or zero.
	endsIdleLater     bool
	closed            bool
	confinementLogged bool
	busyLoggedAt      time.Time
	backoff           backoff
	running           sync.WaitGroup
}

// New returns a Pool and starts its first worker in the background.
func New(config Config) *Pool {
	config = config.withDefaults()
	p := &Pool{
		config: config, loads: newBreaker(config.Now, loadsFormat), calls: newBreaker(config.Now, callsFormat),
		probation: newProbation(config.Now),
		hash:      maphash.MakeSeed(), queue: newQueue(), processes: map[*process]bool{}, checked: lru.New(maxCheckedBytes),
	}
	p.largestMemory.Store(defaultMemory)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replenish()
	return p
}

// Close kills all workers, and so ends the calls in them. Later calls fail.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	for _, w := range p.queue.drain() {
		w.result <- grant{err: errClosed}
	}
	for process := range p.processes {
		process.kill(reasonClosed)
	}
	p.mu.Unlock()
	p.running.Wait()
}

// Definitions returns the given engines with a New that runs them in workers. The workers must have the
// same list.
func (p *Pool) Definitions(of []engines.Definition) []engines.Definition {
	definitions := make([]engines.Definition, len(of))
	for i, d := range of {
		name := d.Name
		d.New = func(engines.Config) (engines.Engine, error) { return &engine{pool: p, name: name}, nil }
		definitions[i] = d
	}
	return definitions
}
