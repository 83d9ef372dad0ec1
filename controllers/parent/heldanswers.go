package parent

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

// heldAnswers are the answers that a pass holds, in the order of its calls. If they, and what is made of
// them, would take more memory than the limit, only the first ones are held, and the other calls fail.
// Which those are does not depend on the order in which the calls end.
type heldAnswers struct {
	calls []variant.Call
	limit int // in bytes

	mu      sync.Mutex
	answers []heldAnswer
	size    int
	end     int // of the answers that are held
	// busy is the error of a call for which the host had no time, or nil.
	busy error
}

// heldAnswer is an answer and what is needed to remember it.
type heldAnswer struct {
	variant.Answer
	size    int // of the body, in bytes of memory
	isNew   bool
	read    engines.ReadSet
	expires time.Time
}

// memory returns about how many bytes of memory a pass takes for the answer.
func (a *heldAnswer) memory() int { return a.size + overheadOf(a.Body) }

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

func newHeldAnswers(calls []variant.Call, limit int) *heldAnswers {
	return &heldAnswers{calls: calls, limit: limit, answers: make([]heldAnswer, len(calls)), end: len(calls)}
}

// hasRoomFor reports whether an answer to the call with that index can still be held.
func (h *heldAnswers) hasRoomFor(index int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return index < h.end
}

// busyError returns the error of calls that are not made, as another one of the pass has waited in vain: each would wait as long.
func (h *heldAnswers) busyError() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.busy
}

// sizeOf returns about how many bytes of memory an answer takes. A number above the limit is not exact. It returns 0
// for the only answer of a pass if the engines' own limit keeps it within the limit, to save the walk through it.
func (h *heldAnswers) sizeOf(call variant.Call, body any) int {
	if len(h.calls) == 1 && len(call.Stamps) == 0 && engines.MaxResponseMemory+overheadOf(body) <= h.limit {
		return 0
	}
	return jsonvalue.Size(body, h.limit)
}

// add holds an answer, and drops the last ones that are too much.
func (h *heldAnswers) add(index int, a heldAnswer) {
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
		h.answers[h.end] = heldAnswer{}
	}
}

// all returns an answer to each call. Those that are not held are errors.
func (h *heldAnswers) all() []variant.Answer {
	all := make([]variant.Answer, len(h.calls))
	for i, call := range h.calls {
		if all[i] = h.answers[i].Answer; i >= h.end {
			all[i] = variant.Answer{Call: call, Err: variant.HookError(call.Hook, h.limitExceeded())}
		}
	}
	return all
}

// limitExceeded returns the error of an answer that is not held.
func (h *heldAnswers) limitExceeded() error {
	what, remedy := "the response takes", "return fewer objects"
	if len(h.calls) > 1 {
		what, remedy = "the responses of this sync take", fmt.Sprintf("there is room for the first %d of %d: return less", h.end, len(h.calls))
	}
	return &engines.Error{Kind: engines.Exhausted, Message: fmt.Sprintf(
		"%s more than %d MiB of memory, with what is made of the objects: %s, spread the work over several parents, "+
			"or raise --max-sync-response-size", what, h.limit>>20, remedy)}
}
