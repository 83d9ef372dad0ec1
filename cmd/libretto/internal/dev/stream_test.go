package dev

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// told returns the lines after a message in short: the event and the name of objects, the texts of others.
func told(t *testing.T, s *stream, number int64) (all []string, last int64) {
	t.Helper()
	lines, last, _, ok := s.after(number)
	if !ok {
		return []string{"too late"}, 0
	}
	var text strings.Builder
	for _, line := range lines {
		text.Write(line)
	}
	for line := range strings.Lines(text.String()) {
		var m struct {
			Object *objectMessage
			Log    string
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if m.Object != nil {
			m.Log = fmt.Sprint(m.Object.Event, " ", m.Object.Message)
		}
		all = append(all, m.Log)
	}
	return all, last
}

// TestStream checks what those are told who come at different times.
func TestStream(t *testing.T) {
	s := newStream()
	put := func(key, message string) { s.put(key, "object", objectMessage{Event: "ADDED", Message: message}) }
	remove := func(key, message string) { s.remove(key, objectMessage{Event: "DELETED", Message: message}) }
	check := func(reason string, number int64, want ...string) int64 {
		t.Helper()
		got, last := told(t, s, number)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
		return last
	}
	s.put("log/1", "log", "a")
	put("a", "a1")
	put("b", "b1")
	first := check("all, in order", 0, "a", "ADDED a1", "ADDED b1")
	put("a", "a1")
	check("nothing has changed", first)
	put("a", "a2")
	put("a", "a3")
	put("c", "c1")
	check("who was there is told of changes, and of the last one alone", first, "MODIFIED a3", "ADDED c1")
	check("who comes now is told of additions", 0, "a", "ADDED b1", "ADDED a3", "ADDED c1")
	remove("b", "b1")
	remove("d", "d1")
	put("e", "e1")
	remove("e", "e1")
	check("of what was deleted those are told who have seen it", first, "MODIFIED a3", "ADDED c1", "DELETED b1")
	check("others are not", 0, "a", "ADDED a3", "ADDED c1")
	put("b", "b2")
	check("it came back", first, "MODIFIED a3", "ADDED c1", "ADDED b2")
	s.drop("log/1")
	check("what is dropped is not told any more", 0, "ADDED a3", "ADDED c1", "ADDED b2")
	for i := range 2 * maxDeletions {
		put(fmt.Sprint("o", i), "o")
		remove(fmt.Sprint("o", i), "o")
	}
	for i := range 2000 {
		put("b", fmt.Sprint(i))
	}
	if len(s.log) > 4*maxDeletions || len(s.byKey) > 2*maxDeletions {
		t.Errorf("%d messages are kept, %d by key", len(s.log), len(s.byKey))
	}
	check("too many deletions are forgotten", first, "too late")
	check("who comes now needs none of them", 0, "ADDED a3", "ADDED c1", "ADDED 1999")
}

// TestFollow reads a stream over HTTP while messages come.
func TestFollow(t *testing.T) {
	s := newStream()
	s.put("log/1", "log", "a")
	server := httptest.NewServer(s)
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for _, want := range []string{`{"log":"a"}`, `{"synced":true}`, `{"log":"b"}`} {
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("%q, want %q", lines.Text(), want)
		}
		if want == `{"synced":true}` {
			s.put("log/2", "log", "b")
		}
	}
}

// objectIn returns the object of a line, or nil if it has none.
func objectIn(t *testing.T, line []byte) *objectMessage {
	t.Helper()
	var m struct{ Object *objectMessage }
	if err := json.Unmarshal(line, &m); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return m.Object
}
