package objectjson

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestEvent(t *testing.T) {
	const bookmark = `{"type":"BOOKMARK","object":{"kind":"A","metadata":{"resourceVersion":"7"}}}`
	cases := map[string]struct {
		reason, text string
		want         []string // Types and names of the events.
		err          string   // Part of the error, or empty for io.EOF.
	}{
		"Empty": {reason: "a watch may end without an event", text: " \n"},
		"Several": {
			reason: "events need no line each",
			text:   `{"type":"ADDED","object":{"kind":"A","metadata":{"name":"a"}}}{"object":{"kind":"A"},"type":"DELETED"}` + "\n\n" + bookmark,
			want:   []string{"ADDED A", "DELETED A", "BOOKMARK A"},
		},
		"More":     {reason: "other fields are not for us", text: `{"x":[{"y":1}],"type":"ADDED","object":{"kind":"A"}}`, want: []string{"ADDED A"}},
		"Cut":      {reason: "the connection broke", text: bookmark + `{"type":"ADDED","object":{"kind`, want: []string{"BOOKMARK A"}, err: "unexpected EOF"},
		"Garbage":  {reason: "a proxy's page", text: bookmark + `<html>`, want: []string{"BOOKMARK A"}, err: "byte 76: '<' where an event begins"},
		"NoObject": {reason: "an event is about an object", text: `{"type":"ADDED"}`, err: "no type or no object"},
		"NoType":   {reason: "an event has a type", text: `{"object":{"kind":"A"}}`, err: "no type or no object"},
		"NoKind":   {reason: "an object has a kind", text: `{"type":"ADDED","object":{}}`, err: "has no kind"},
		"BadType":  {reason: "a type is a string", text: `{"type":1,"object":{}}`, err: "where the type of an event begins"},
		"BadValue": {reason: "the place is in the stream", text: bookmark + "\n" + `{"type":"ADDED","object":{"kind":tru}}`, want: []string{"BOOKMARK A"}, err: `byte 113: '}' in the word true`},
		"TooLarge": {reason: "memory is bounded", text: `{"type":"ADDED","object":{"kind":"` + strings.Repeat("x", maxValue) + `"}}`, err: "16 MiB"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for reader, source := range map[string]io.Reader{
				"whole": strings.NewReader(tc.text), "halves": iotest.HalfReader(strings.NewReader(tc.text)),
				"with EOF": iotest.DataErrReader(strings.NewReader(tc.text)),
			} {
				d := NewDecoder(source, Options{Interner: NewInterner()})
				var got []string
				var err error
				for {
					var e Event
					if e, err = d.Event(); err != nil {
						break
					}
					kind, _ := e.Object["kind"].(string)
					got = append(got, e.Type+" "+kind)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s, %s: events (-want, +got):\n%s", reader, tc.reason, diff)
				}
				if tc.err == "" && !errors.Is(err, io.EOF) || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s, %s: the error is %v, want %q", reader, tc.reason, err, tc.err)
				}
				if _, again := d.Event(); again == nil {
					t.Errorf("%s: an event follows an error", reader)
				}
			}
		})
	}
}

// TestEventError checks that an error of the connection is returned.
func TestEventError(t *testing.T) {
	errBoom := errors.New("boom")
	_, err := NewDecoder(io.MultiReader(strings.NewReader(`{"type":`), iotest.ErrReader(errBoom)), Options{}).Event()
	if !errors.Is(err, errBoom) {
		t.Errorf("the error is %v, want %v", err, errBoom)
	}
}

func TestList(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		list         map[string]any
		items        []map[string]any
		err          string
	}{
		"Built-in": {
			reason: "the kind of items is that of the list",
			text:   `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"c"},"items":[{"metadata":{"name":"a"}},{"kind":"","apiVersion":""}]}`,
			list:   map[string]any{"kind": "PodList", "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": "7", "continue": "c"}},
			items: []map[string]any{
				{"kind": "Pod", "apiVersion": "v1", "metadata": map[string]any{"name": "a"}}, {"kind": "Pod", "apiVersion": "v1"},
			},
		},
		"Late": {
			reason: "a list of custom resources has its fields in alphabetical order",
			text:   `{"apiVersion":"e/v1","items":[{"apiVersion":"e/v2","kind":"X"},{"spec":1}],"kind":"BoxList"}`,
			list:   map[string]any{"kind": "BoxList", "apiVersion": "e/v1"},
			items:  []map[string]any{{"apiVersion": "e/v2", "kind": "X"}, {"apiVersion": "e/v1", "kind": "Box", "spec": int64(1)}},
		},
		"Empty":   {reason: "no items", text: `{"kind":"List","items":[]}`, list: map[string]any{"kind": "List"}, items: []map[string]any{}},
		"Null":    {reason: "a nil slice of an API server in Go", text: `{"kind":"XList","metadata":{},"items":null}`, list: map[string]any{"kind": "XList", "metadata": map[string]any{}}, items: []map[string]any{}},
		"NoItems": {reason: "another object is no list", text: `{"kind":"Pod"}`, err: "is no list"},
		"NoKind":  {reason: "nothing says what the items are", text: `{"items":[]}`, err: "is no list"},
		"Page":    {reason: "a proxy's page", text: `<html>`, err: "'<' where a list begins"},
		"Cut":     {reason: "the connection broke", text: `{"kind":"List","items":[{"a":1},`, err: "unexpected EOF"},
		"BadItem": {reason: "an item is an object", text: `{"kind":"List","items":[1]}`, err: "'1' where an object begins"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			list, items, err := NewDecoder(iotest.HalfReader(strings.NewReader(tc.text)), Options{}).List()
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s: the error is %v, want %q", tc.reason, err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.list, list); diff != "" {
				t.Errorf("%s: list (-want, +got):\n%s", tc.reason, diff)
			}
			for i := range items {
				for _, field := range []string{"kind", "apiVersion"} {
					if items[i][field] == "" {
						t.Errorf("%s: item %d has an empty %s", tc.reason, i, field)
					}
				}
			}
			if diff := cmp.Diff(tc.items, items); diff != "" {
				t.Errorf("%s: items (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestListBuffer checks that a list of any length is read with little memory besides its items.
// TestBufferIsMovedSeldom checks that many small objects that came together are not moved for each of them.
func TestBufferIsMovedSeldom(t *testing.T) {
	const number = 10_000
	text := `{"type":"ADDED","object":{"kind":"` + strings.Repeat("x", 1<<20) + `"}}` + strings.Repeat(`{"type":"ADDED","object":{"kind":"A"}}`, number)
	d := NewDecoder(strings.NewReader(text), Options{})
	moves := 0
	for i := range number + 1 {
		dropped := d.dropped
		if _, err := d.Event(); err != nil {
			t.Fatalf("event %d: %v", i, err)
		}
		if d.dropped > dropped && len(d.buf) > minBuffer {
			moves++
		}
	}
	if moves > 20 {
		t.Errorf("the buffer was moved %d times", moves)
	}
}

func TestListBuffer(t *testing.T) {
	item := `{"metadata":{"name":"a"},"data":"` + strings.Repeat("x", 1000) + `"},`
	d := NewDecoder(strings.NewReader(`{"kind":"List","items":[`+strings.Repeat(item, 3000)+`{}]}`), Options{})
	_, items, err := d.List()
	if err != nil || len(items) != 3001 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	if cap(d.buf) > maxIdleBuffer {
		t.Errorf("the buffer has %d bytes, want at most %d", cap(d.buf), maxIdleBuffer)
	}
}
