package webhook

import (
	"container/list"
	"sync"
	"time"

	"github.com/libretto-k8s/libretto/engines"
)

// answers are those that one endpoint gave with an ETag: the last for each
// subject, up to a number of bytes, of which the longest unused make room.
type answers struct {
	settings engines.Etag
	size     int // in bytes, at most

	mu      sync.Mutex
	room    int // of size, what is left
	byCall  map[question]*list.Element
	order   *list.List // of *remembered, the last used first
	cleaned time.Time
}

// question is what an answer is the answer to: the object, by its UID, and what
// tells its calls apart. A request that has changed is for the server to notice.
type question struct{ seed, subject string }

// remembered is an answer. It never changes once made.
type remembered struct {
	question question
	etag     string
	text     []byte
	used     time.Time
}

func newAnswers(settings engines.Etag, size int) *answers {
	return &answers{settings: settings, size: size, room: size, byCall: map[question]*list.Element{}, order: list.New()}
}

// get gives the answer that may hold still, or nil.
func (a *answers) get(call engines.Call) *remembered {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clean(call.Now)
	element := a.byCall[question{call.Seed, call.Subject}]
	if element == nil {
		return nil
	}
	known := element.Value.(*remembered)
	if a.expired(known, call.Now) {
		a.remove(element)
		return nil
	}
	fresh := *known
	fresh.used = call.Now
	element.Value = &fresh
	a.order.MoveToFront(element)
	return &fresh
}

// put remembers an answer. One without an ETag changes nothing: the one before
// is still the answer that its own ETag stands for.
func (a *answers) put(call engines.Call, etag string, text []byte) {
	if etag == "" || cap(text) > a.size {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	asked := question{call.Seed, call.Subject}
	if element := a.byCall[asked]; element != nil {
		a.remove(element)
	}
	next := &remembered{question: asked, etag: etag, text: text, used: call.Now}
	a.byCall[asked] = a.order.PushFront(next)
	a.room -= cap(text)
	for a.room < 0 {
		a.remove(a.order.Back())
	}
}

// clean removes what has expired, as often as the settings say.
func (a *answers) clean(now time.Time) {
	if a.settings.Cleanup <= 0 || now.Sub(a.cleaned) < a.settings.Cleanup {
		return
	}
	a.cleaned = now
	for element := a.order.Back(); element != nil && a.expired(element.Value.(*remembered), now); element = a.order.Back() {
		a.remove(element)
	}
}

func (a *answers) expired(r *remembered, now time.Time) bool {
	return a.settings.Expiry > 0 && now.Sub(r.used) >= a.settings.Expiry
}

func (a *answers) remove(element *list.Element) {
	known := a.order.Remove(element).(*remembered)
	delete(a.byCall, known.question)
	a.room += cap(known.text)
}
