package worker

import (
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/libretto-k8s/libretto/engines/sandbox/confine"
)

const (
	// lookEvery is how often the heap is measured while a script runs.
	lookEvery = 10 * time.Millisecond
	// collectHard is the part of the budget from which the garbage collector works
	// harder, softStop that from which the script is stopped. The rest is for what
	// it does until it notices, and what the runtime needs beside the heap.
	collectHard, softStop = 0.80, 0.85
	// cleanUp is the part of the budget from which memory is given back after a call: well
	// before the host would replace the process for what it seems to keep.
	cleanUp = 0.40
)

// limits are what a question may use of memory.
type limits struct {
	confined *confine.Confined
	idle     uint64 // What the heap had before the first question.
	budget   int64
}

func newLimits(c *confine.Confined) limits { return limits{confined: c, idle: heap()} }

// begin puts the question's budget in force and starts to watch it. What it gives is
// called when the question is answered, with whether it was stopped, and says
// whether memory was what stopped it.
func (l *limits) begin(q *question) (finish func(stopped bool) bool, err error) {
	idle := l.idle + uint64(q.Kept)
	if l.budget != q.Memory+q.Kept {
		if err := l.confined.Budget(q.Memory + q.Kept); err != nil {
			return nil, fmt.Errorf("memory limit: %w", err)
		}
		debug.SetGCPercent(pace(idle))
		debug.SetMemoryLimit(int64(idle) + part(q.Memory, collectHard))
		l.budget = q.Memory + q.Kept
	}
	w := &watch{most: idle + uint64(part(q.Memory, softStop)), over: func() { q.stop(errMemory) }}
	w.start()
	return func(stopped bool) bool {
		over, looked := w.end()
		if stopped || looked && resident() > idle+uint64(part(q.Memory, cleanUp)) {
			// The next call must not fail for what this one left behind.
			debug.FreeOSMemory()
		}
		return over
	}, nil
}

func part(of int64, share float64) int64 { return int64(float64(of) * share) }

// watch looks at the heap until it is ended, or the heap is over its limit.
type watch struct {
	most uint64
	over func()

	mu           sync.Mutex
	timer        *time.Timer
	looked, high bool
	ended        bool
}

func (w *watch) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(lookEvery, w.look)
}

func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	w.looked = true
	if heap() > w.most {
		w.high = true
		w.over()
		return
	}
	w.timer.Reset(lookEvery)
}

// end says whether the heap was too large, and whether anybody looked.
func (w *watch) end() (over, looked bool) {
	w.timer.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	return w.high, w.looked
}

// pace is the garbage collector's target for a heap that idles at that size: as much garbage,
// whatever that is. Calls of a small heap, which make a megabyte each, need a collection after
// many of them, and with a large one it may not look as if they left the garbage behind.
func pace(live uint64) int {
	const garbage, most = 40 << 20, 1000
	return int(min(max(100*garbage/max(live, 1), 25), most))
}

// heap is what objects and stacks take, in bytes.
func heap() uint64 {
	return sum("/memory/classes/heap/objects:bytes", "/memory/classes/heap/stacks:bytes")
}

// resident is the heap and what it has not given back.
func resident() uint64 {
	return heap() + sum("/memory/classes/heap/free:bytes", "/memory/classes/heap/unused:bytes")
}

// sum adds two figures of the runtime's up.
func sum(one, other string) uint64 {
	samples := [2]metrics.Sample{{Name: one}, {Name: other}}
	metrics.Read(samples[:])
	return samples[0].Value.Uint64() + samples[1].Value.Uint64()
}
