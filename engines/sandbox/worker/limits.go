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
	// sampleInterval is how often the heap is measured while a script runs.
	sampleInterval = 10 * time.Millisecond
	// gcFraction is the part of the budget from which the garbage collector runs more often,
	// stopFraction the part from which the script is stopped. The rest is for what the script uses until
	// it notices, and for the runtime.
	gcFraction, stopFraction = 0.80, 0.85
	// pressedFraction is the part of the budget from which a script that does not end in time is said to hold too much: collecting
	// garbage takes most of the time then.
	pressedFraction = 0.75
	// freeFraction is the part of the budget from which memory is returned to the system after a call.
	// It is well below the limit at which the host replaces the worker.
	freeFraction = 0.40
)

// limits applies the memory limits of questions.
type limits struct {
	confined *confine.Confined
	baseline uint64 // Size of the heap before the first question.
	budget   int64
	garbage  int64 // How much there may be before a collection.
}

func newLimits(c *confine.Confined) limits {
	return limits{confined: c, baseline: heapBytes(), garbage: minGarbage}
}

const (
	// minGarbage and maxGarbage are how much garbage there may be, which is memory that a busy worker takes and saves collections. It
	// grows to that of some questions: of small ones minGarbage is many.
	minGarbage, maxGarbage = 16 << 20, 40 << 20
	questionsPerCollection = 8
)

// note records what a question has allocated.
func (l *limits) note(allocated uint64) {
	if garbage := min(int64(min(allocated, maxGarbage))*questionsPerCollection, maxGarbage); garbage > l.garbage {
		l.garbage, l.budget = garbage, 0 // So that begin sets it.
	}
}

// reset is called when there are no questions.
func (l *limits) reset() { l.garbage, l.budget = minGarbage, 0 }

// begin sets the limits of a question and starts to watch the heap. finish must be called when the
// question is answered, with whether it was stopped. It reports whether the memory limit stopped it, and whether the heap came
// near to that.
func (l *limits) begin(q *question) (finish func(stopped bool) (exceeded, pressed bool), err error) {
	idle := l.baseline + uint64(q.CachedBytes)
	if l.budget != q.Memory+q.CachedBytes {
		if err := l.confined.Budget(q.Memory + q.CachedBytes); err != nil {
			return nil, fmt.Errorf("memory limit: %w", err)
		}
		debug.SetGCPercent(gcPercent(idle, l.garbage))
		debug.SetMemoryLimit(int64(idle) + fraction(q.Memory, gcFraction))
		l.budget = q.Memory + q.CachedBytes
	}
	w := &heapWatch{pressedFrom: idle + uint64(fraction(q.Memory, pressedFraction)), limit: idle + uint64(fraction(q.Memory, stopFraction)),
		onExceeded: func() { q.cancel(errMemory) }}
	before := totalAllocated()
	w.start()
	return func(stopped bool) (bool, bool) {
		exceeded, pressed, sampled := w.stop()
		l.note(totalAllocated() - before)
		if stopped || sampled && residentBytes() > idle+uint64(fraction(q.Memory, freeFraction)) {
			// Garbage of this call must not make the next one fail.
			debug.FreeOSMemory()
		}
		return exceeded, pressed
	}, nil
}

func fraction(of int64, share float64) int64 { return int64(float64(of) * share) }

// heapWatch measures the heap until it is stopped or the heap exceeds its limit.
type heapWatch struct {
	pressedFrom, limit uint64
	onExceeded         func()

	mu                         sync.Mutex
	timer                      *time.Timer
	sampled, pressed, exceeded bool
	stopped                    bool
}

func (w *heapWatch) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(sampleInterval, w.sample)
}

func (w *heapWatch) sample() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	w.sampled = true
	size := heapBytes()
	w.pressed = size > w.pressedFrom
	if size > w.limit {
		w.exceeded = true
		w.onExceeded()
		return
	}
	w.timer.Reset(sampleInterval)
}

// stop reports whether the heap exceeded the limit, whether it was near it when it was last measured, and whether it ever was.
func (w *heapWatch) stop() (exceeded, pressed, sampled bool) {
	w.timer.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	return w.exceeded, w.pressed, w.sampled
}

// gcPercent returns the garbage collector's target for a heap with that many live bytes and so much garbage. It does not depend on what is
// live: a small heap is not collected after every few calls of a megabyte each, and a large one does not hide the garbage of a call.
func gcPercent(live uint64, garbage int64) int {
	const maxPercent = 1000
	return int(min(max(100*uint64(garbage)/max(live, 1), 25), maxPercent))
}

// heapBytes returns the size of objects and stacks.
func heapBytes() uint64 {
	return sumMetrics("/memory/classes/heap/objects:bytes", "/memory/classes/heap/stacks:bytes")
}

// residentBytes returns the size of the heap and of memory not yet returned to the system.
func residentBytes() uint64 {
	return heapBytes() + sumMetrics("/memory/classes/heap/free:bytes", "/memory/classes/heap/unused:bytes")
}

// sumMetrics adds two runtime metrics.
func sumMetrics(a, b string) uint64 {
	samples := [2]metrics.Sample{{Name: a}, {Name: b}}
	metrics.Read(samples[:])
	return samples[0].Value.Uint64() + samples[1].Value.Uint64()
}
