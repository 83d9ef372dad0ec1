package parent

import (
	"fmt"
	"sync"
	"time"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
)

const (
	// DefaultAnswerCacheBytes is how much memory the kept answers of a process may take, and
	// DefaultPassAnswerBytes how much those may that one pass holds, unless Environment says otherwise.
	DefaultAnswerCacheBytes, DefaultPassAnswerBytes = 128 << 20, 128 << 20
)

// heldAnswers are the answers that a pass holds, in the order of its calls. If they would take more
// memory than the limit, only the first ones are held, and the other calls fail. Which those are does
// not depend on the order in which the calls end.
type heldAnswers struct {
	calls []variant.Call
	limit int // in bytes

	mu      sync.Mutex
	answers []heldAnswer
	size    int
	end     int // of the answers that are held
}

// heldAnswer is an answer and what is needed to remember it.
type heldAnswer struct {
	variant.Answer
	size    int // of the body, in bytes of memory
	isNew   bool
	unread  []string
	expires time.Time
}

func newHeldAnswers(calls []variant.Call, limit int) *heldAnswers {
	return &heldAnswers{calls: calls, limit: limit, answers: make([]heldAnswer, len(calls)), end: len(calls)}
}

// wants reports whether an answer to the call with that index can still be held.
func (h *heldAnswers) wants(index int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return index < h.end
}

// add holds an answer, and drops the last ones that are too much.
func (h *heldAnswers) add(index int, a heldAnswer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if index >= h.end {
		return
	}
	h.answers[index] = a
	h.size += a.size
	for h.size > h.limit {
		h.end--
		h.size -= h.answers[h.end].size
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

func (h *heldAnswers) limitExceeded() error {
	return &engines.Error{Kind: engines.Exhausted, Message: fmt.Sprintf(
		"the responses of this sync take more than %d MiB of memory, of which there is room for the first %d of %d: "+
			"return less, spread the work over several parents, or raise --max-sync-response-size", h.limit>>20, h.end, len(h.calls))}
}
