package dev

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
)

// stream is what the page shows: messages by key, of which the last one counts. It hands them to all that follow it.
type stream struct {
	mu      sync.Mutex
	number  int64
	changed chan struct{} // Closed by the next message.
	byKey   map[string]*message
	// log are the messages in their order. Those that another one of their key has taken the place of are left out.
	log []*message
	// compactAt is how long the log may get before it is compacted.
	compactAt int
	// forgotten is the number of the last deletion that is not in the log any more.
	forgotten int64
}

// message is one line of the stream.
type message struct {
	key    string
	number int64
	// since is the number of the first message of its key: who has seen that is told of a change, others of an addition.
	since int64
	line  []byte
	// isGone is set for the deletion of an object, of which those are told who have seen it. replaced is set if another message counts.
	isGone, replaced bool
}

func newStream() *stream { return &stream{changed: make(chan struct{}), byKey: map[string]*message{}} }

// The beginnings of the lines of objects.
var added, modified = []byte(`{"object":{"event":"ADDED",`), []byte(`{"object":{"event":"MODIFIED",`)

// put sends a message, in the place of the one before with that key. One that says the same is not sent.
func (s *stream) put(key, field string, value any) {
	line, _ := json.Marshal(map[string]any{field: value}) // It has come as JSON, or is the command's own.
	s.send(key, &message{line: append(line, '\n')})
}

// remove sends a last message of an object.
func (s *stream) remove(key string, value any) {
	line, _ := json.Marshal(map[string]any{"object": value})
	s.send(key, &message{line: append(line, '\n'), isGone: true})
}

func (s *stream) send(key string, m *message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.byKey[key]
	if before != nil && bytes.Equal(before.line, m.line) || before == nil && m.isGone {
		return
	}
	s.number++
	m.key, m.number, m.since = key, s.number, s.number
	if before != nil {
		before.replaced = true
		if !before.isGone {
			m.since = before.since
		}
	}
	s.byKey[key] = m
	s.log = append(s.log, m)
	if len(s.log) > s.compactAt {
		s.compact()
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// drop forgets a message.
func (s *stream) drop(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.byKey[key]; m != nil {
		m.replaced = true
		delete(s.byKey, key)
	}
}

// maxDeletions is how many deletions are kept for those who are late.
const maxDeletions = 1000

// compact drops from the log what counts no more, and the oldest of too many deletions. The lock is held.
func (s *stream) compact() {
	gone := 0
	for _, m := range slices.Backward(s.log) {
		if m.isGone && !m.replaced {
			if gone++; gone > maxDeletions {
				m.replaced, s.forgotten = true, max(s.forgotten, m.number)
				delete(s.byKey, m.key)
			}
		}
	}
	s.log = slices.DeleteFunc(s.log, func(m *message) bool { return m.replaced })
	s.compactAt = 2*len(s.log) + 100
}

// after returns the lines after a message, the number of the last one, and what is closed by the next one. It returns false if there were
// deletions between them that are forgotten.
func (s *stream) after(number int64) (lines [][]byte, last int64, changed <-chan struct{}, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number > 0 && number < s.forgotten {
		return nil, 0, nil, false
	}
	first, _ := slices.BinarySearchFunc(s.log, number+1, func(m *message, n int64) int { return int(m.number - n) })
	for _, m := range s.log[first:] {
		switch {
		case m.replaced, m.isGone && m.since > number:
		case m.since <= number && bytes.HasPrefix(m.line, added):
			lines = append(lines, modified, m.line[len(added):])
		default:
			lines = append(lines, m.line)
		}
	}
	return lines, s.number, s.changed, true
}

// ServeHTTP sends all messages, then that these were all, and then each one that comes, until the request ends. Who can't keep up misses
// what others have taken the place of.
func (s *stream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "no-store")
	s.follow(w, r, func(lines [][]byte, isFirst bool) bool {
		if isFirst {
			lines = append(lines, []byte("{\"synced\":true}\n"))
		}
		for _, line := range lines {
			if _, err := w.Write(line); err != nil {
				return false
			}
		}
		return true
	})
}

// follow calls write with the lines that there are, and with those that come, and flushes w after each call, until the request ends, too
// much was forgotten, or write returns false.
func (s *stream) follow(w http.ResponseWriter, r *http.Request, write func(lines [][]byte, isFirst bool) bool) {
	flush := http.NewResponseController(w).Flush
	for number := int64(-1); ; {
		lines, last, changed, ok := s.after(max(number, 0))
		if !ok {
			return
		}
		if goesOn := write(lines, number < 0); flush() != nil || !goesOn {
			return
		}
		number = last
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}
