package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// repeated returns the JSON of a list of about so many bytes, of one item again and again.
func repeated(item string, size int) []byte {
	n := max(1, size/(len(item)+1))
	return []byte("[" + strings.Repeat(item+",", n-1) + item + "]")
}

// nested returns JSON of many levels, again and again.
func nested(begin, end string, depth, size int) []byte {
	return repeated(strings.Repeat(begin, depth)+"0"+strings.Repeat(end, depth), size)
}

// hostileAnswers are texts of about so many bytes that take much more memory.
func hostileAnswers(size int) map[string][]byte {
	var fields strings.Builder
	for i := range size / 12 {
		fmt.Fprintf(&fields, `"%x":0,`, i)
	}
	return map[string][]byte{
		"SmallObjects":  repeated(`{"":0}`, size),
		"EmptyObjects":  repeated(`{}`, size),
		"EmptyLists":    repeated(`[]`, size),
		"SmallLists":    repeated(`[0]`, size),
		"Nulls":         repeated(`null`, size),
		"Digits":        repeated(`1`, size),
		"Numbers":       repeated(`1.5`, size),
		"Strings":       repeated(`"ab"`, size),
		"Spaced":        repeated(" {\n\t\"a\" : 0 } ", size),
		"NestedObjects": nested(`{"":`, `}`, 400, size),
		"NestedLists":   nested(`[`, `]`, 400, size),
		"NineFields":    repeated(`{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0}`, size),
		"ManyFields":    []byte("{" + fields.String() + `"":0}`),
		"Escapes":       repeated(`"\\\"{{[[\\"`, size),
		"LongText":      []byte(`["` + strings.Repeat(`{},`, size/3) + `"]`),
		"Pods":          mustMarshal(desired(max(1, size/1000))),
	}
}

func mustMarshal(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// settledHeap collects garbage until that frees nothing more, and returns the size of the heap in bytes. What other tests have left may have
// finalizers, or be in pools, and is freed some collections later.
func settledHeap() int {
	var now runtime.MemStats
	for last, same := uint64(0), 0; ; last = now.HeapAlloc {
		runtime.GC()
		runtime.ReadMemStats(&now)
		if same++; now.HeapAlloc+64<<10 < last || last == 0 {
			same = 0
		}
		if same == 2 {
			return int(now.HeapAlloc)
		}
	}
}

// TestDecodedSize compares the size of a text with that of its value, and with what the heap grows by.
func TestDecodedSize(t *testing.T) {
	const size = 1 << 20
	all := hostileAnswers(size)
	defer runtime.KeepAlive(all)
	for name, text := range all {
		t.Run(name, func(t *testing.T) {
			before := settledHeap()
			value, err := decode(text, false)
			if err != nil {
				t.Fatal(err)
			}
			heap := settledHeap() - before
			got, walked := decodedSize(text, 1<<40), jsonvalue.Size(value, 1<<40)
			if got < heap*8/10 || got > heap*2 || got > len(text)*maxMemoryPerByte {
				t.Errorf("size %d of %d bytes, but the heap grows by %d", got, len(text), heap)
			}
			if most := maxDecodedSize(text); most < got {
				t.Errorf("size %d, but at most %d", got, most)
			}
			if walked < heap*7/10 || walked > heap*2 {
				t.Errorf("the value's size is %d, but the heap grows by %d", walked, heap)
			}
			t.Logf("%.1f bytes for each byte, %.1f estimated, %.1f walked", float64(heap)/float64(len(text)),
				float64(got)/float64(len(text)), float64(walked)/float64(len(text)))
			runtime.KeepAlive(value)
		})
	}
}

// TestDecodedSizeOfNoJSON checks that any text has a size, as it is known only later that it is not JSON.
func TestDecodedSizeOfNoJSON(t *testing.T) {
	for _, text := range []string{"", "]", "}}}", `"`, `"\`, `{"a`, "[,,,]", "<html>", ":", "-", "\x00\xff", `{"a":}`, "tru", "1e"} {
		if got := decodedSize([]byte(text), 1<<20); got < 0 || got > 1<<20 {
			t.Errorf("%q has the size %d", text, got)
		}
	}
}

// TestNestedAnswersAreCheap checks that looking at a text that is nested too deep, or that has no end, takes
// less memory than the text, and that such an answer is refused.
func TestNestedAnswersAreCheap(t *testing.T) {
	const size = defaultMaxResponseBytes - 1000
	for name, c := range map[string]struct {
		reason, text, want string
	}{
		"lists":      {"no list ends", strings.Repeat("[", size), "exceeded max depth"},
		"objects":    {"nor an object", strings.Repeat(`{"":`, size/4), "exceeded max depth"},
		"after":      {"so deep after much that is not", "[" + strings.Repeat("[],", size/6) + strings.Repeat("[", size/2), "exceeded max depth"},
		"just":       {"one deeper than may be", strings.Repeat("[", maxDepth+1) + strings.Repeat(" ", size/2) + strings.Repeat("]", maxDepth+1), "exceeded max depth"},
		"not deeper": {"what is read still counts", strings.Repeat("[", maxDepth-1) + strings.Repeat("[],", size/3), "more than 96 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			text := []byte(c.text)
			runtime.ReadMemStats(&before)
			_, err := decode(text, true)
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %.200v, want %q", c.reason, err, c.want)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > size/2 {
				t.Errorf("%s: %d bytes are taken for a text of %d", c.reason, got, len(text))
			}
		})
	}
}

// TestAnswerMemoryIsBounded has servers answer as much as a body may have, of what takes the most memory.
func TestAnswerMemoryIsBounded(t *testing.T) {
	answers := hostileAnswers(defaultMaxResponseBytes - 1000)
	var answer []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(answer) }))
	defer server.Close()
	program := compile(t, endpoint(server.URL))
	for name, refused := range map[string]bool{
		"SmallObjects": true, "EmptyObjects": true, "NestedObjects": true, "EmptyLists": true, "NineFields": true, "ManyFields": false,
		"LongText": false, "Pods": false,
	} {
		answer = answers[name]
		got, failure := call(t, program, engines.Call{})
		switch {
		case refused && (failure == nil || failure.Kind != engines.Exhausted):
			t.Errorf("%s: error %v, want one about the memory", name, failure)
		case refused && !strings.Contains(failure.Message, "would take more than 96 MiB of memory"):
			t.Errorf("%s: error %v", name, failure)
		case !refused && (failure != nil || jsonvalue.Size(got, 1<<40) > maxAnswerMemory):
			t.Errorf("%s is not decoded: %v", name, failure)
		}
	}
}

// BenchmarkDecode compares decoding a large answer with what it takes to estimate its memory.
func BenchmarkDecode(b *testing.B) {
	for _, children := range []int{10, 2000, 7000} {
		text := mustMarshal(map[string]any{"children": desired(children)})
		if spaces := new(bytes.Buffer); children == 2000 {
			if err := json.Indent(spaces, text, "", "  "); err != nil {
				b.Fatal(err)
			}
			text = spaces.Bytes()
		}
		b.Run(fmt.Sprintf("decode/%d", len(text)), func(b *testing.B) {
			for b.Loop() {
				if _, err := decode(text, false); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("check/%d", len(text)), func(b *testing.B) {
			for b.Loop() {
				if err := checkMemory(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
