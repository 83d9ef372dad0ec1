package answers

import (
	"fmt"
	"sync"
	"time"

	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// objectOverhead is about how much memory a pass takes for each object that an answer lists, beside that
// of the answer: the marked object, the change, and what is sent.
const objectOverhead = 3 << 10

// Collector collects the answers of a pass, in the order of its calls. If they, and what is made of
// them, would take more memory than the limit, only the first ones are kept, and the other calls fail.
// Which those are does not depend on the order in which the calls end.
type Collector struct {
	calls []variant.Call
	limit int // in bytes

	mu      sync.Mutex
	answers []Answer
	size    int
	end     int // of the answers that are kept
	// busy is the error of a call for which the host had no time, or nil.
	busy error
}

// Answer is an answer and what is needed to remember it.
type Answer struct {
	variant.Answer
	Size    int // of the body, in bytes of memory
	IsNew   bool
	Read    engines.ReadSet
	Expires time.Time
}

// memory returns about how many bytes of memory a pass takes for the answer.
func (a *Answer) memory() int { return a.Size + overheadOf(a.Body) }

// overheadOf returns about how many bytes of memory a pass takes for the objects that an answer lists.
func overheadOf(body any) int {
	total := 0
	fields, _ := body.(map[string]any)
	for _, field := range fields {
		list, _ := field.([]any)
		total += len(list) * objectOverhead
	}
	return total
}

// NewCollector returns a Collector for the answers to calls, which keeps up to limit bytes.
func NewCollector(calls []variant.Call, limit int) *Collector {
	return &Collector{calls: calls, limit: limit, answers: make([]Answer, len(calls)), end: len(calls)}
}

// HasRoomFor reports whether an answer to the call with that index can still be kept.
func (h *Collector) HasRoomFor(index int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return index < h.end
}

// BusyError returns the error of calls that are not made, as another one of the pass has waited in vain: each would wait as long.
func (h *Collector) BusyError() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.busy
}

// SizeOf returns about how many bytes of memory an answer takes. A number above the limit is not exact. It returns 0
// for the only answer of a pass if the engines' own limit keeps it within the limit, to save the walk through it.
func (h *Collector) SizeOf(call variant.Call, body any) int {
	if len(h.calls) == 1 && len(call.Stamps) == 0 && engines.MaxResponseMemory+overheadOf(body) <= h.limit {
		return 0
	}
	return jsonvalue.Size(body, h.limit)
}

// Add keeps an answer, and drops the last ones that are too much.
func (h *Collector) Add(index int, a Answer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if index >= h.end {
		return
	}
	if h.answers[index] = a; failure.IsBusy(a.Err) {
		h.busy = a.Err
	}
	h.size += a.memory()
	for h.size > h.limit {
		h.end--
		h.size -= h.answers[h.end].memory()
		h.answers[h.end] = Answer{}
	}
}

// All returns an answer to each call. Those that were not kept are errors.
func (h *Collector) All() []variant.Answer {
	all := make([]variant.Answer, len(h.calls))
	for i, call := range h.calls {
		if all[i] = h.answers[i].Answer; i >= h.end {
			all[i] = variant.Answer{Call: call, Err: variant.HookError(call.Hook, h.limitExceeded())}
		}
	}
	return all
}

// limitExceeded returns the error of an answer that was not kept.
func (h *Collector) limitExceeded() error {
	what, remedy := "the response takes", "return fewer objects"
	if len(h.calls) > 1 {
		what, remedy = "the responses of this sync take", fmt.Sprintf("there is room for the first %d of %d: return less", h.end, len(h.calls))
	}
	return &engines.Error{Kind: engines.Exhausted, Message: fmt.Sprintf(
		"%s more than %d MiB of memory, with what is made of the objects: %s, spread the work over several parents, "+
			"or raise --max-sync-response-size", what, h.limit>>20, remedy)}
}
