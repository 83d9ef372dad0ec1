package objectjson

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestInternerHoldsLittle checks how much memory an interner keeps after objects that are gone, whatever they were.
func TestInternerHoldsLittle(t *testing.T) {
	const mib = 1 << 20
	large := strings.Repeat("x", 200_000)
	cases := map[string]struct {
		reason  string
		objects int
		text    func(i int) string
	}{
		"Contained": {"a text that points into an annotation keeps it", 150, func(i int) string {
			text := fmt.Sprintf("%0150d", i)
			return `{"kind":"A","metadata":{"annotations":{"a":"` + text + large + `"}},"data":{"a":"` + text + `"}}`
		}},
		"Mostly contained": {"an annotation may be little longer than the text", 500, func(i int) string {
			text := fmt.Sprintf("%030000d", i)
			return `{"kind":"A","metadata":{"annotations":{"a":"` + text + `.."}},"data":{"a":"` + text + `"}}`
		}},
		"Unchanged": {"a part may have a large text of the previous version", 150, func(i int) string {
			return fmt.Sprintf(`{"kind":"A","metadata":{"name":"a"},"data":{"a":"%d%s","b":{"c":%d}}}`, i/2, large, i)
		}},
		"Names": {"names of fields may be as large as texts", 150, func(i int) string {
			return fmt.Sprintf(`{"kind":"A","data":{"%d%s":1}}`, i, large)
		}},
		"Values of long names": {"what comes below a long name is not looked for again", 1000, func(i int) string {
			return fmt.Sprintf(`{"kind":"A","data":{"%0200d":{"a":"%0900d"}}}`, i, i)
		}},
		"Short texts": {"a list may have many texts that no other has", 300, func(i int) string {
			return fmt.Sprintf(`{"kind":"A","data":[%s0]}`, strings.Repeat(fmt.Sprintf(`"%0100d","%0101d","%0102d",`, i, i, i), 10)+uniqueTexts(i))
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before, in := heap(), NewInterner()
			var known map[string]any
			options := Options{Interner: in, Previous: func(string, string) map[string]any { return known }}
			for i := range tc.objects {
				known = decode(t, tc.text(i), options)
			}
			known = nil
			kept := int64(heap()) - int64(before)
			t.Logf("%d KiB", kept>>10)
			if kept > 6*mib {
				t.Errorf("%d MiB are kept: %s", kept/mib, tc.reason)
			}
			if in.texts > maxTexts/2 {
				t.Errorf("%d bytes are kept of texts that do not come again", in.texts)
			}
			runtime.KeepAlive(in)
		})
	}
}

// uniqueTexts returns 400 strings as items of a list, that no other number has.
func uniqueTexts(number int) string {
	var b strings.Builder
	for i := range 400 {
		fmt.Fprintf(&b, `"%d-%0110d",`, number, i)
	}
	return b.String()
}

// TestUpdatesHoldLittle checks that an object keeps no earlier versions in memory, whichever of its parts came with which.
func TestUpdatesHoldLittle(t *testing.T) {
	const number = 40
	var current map[string]any
	options := Options{Interner: NewInterner(), Previous: func(string, string) map[string]any { return current }}
	texts := make([]string, number)
	object := func(i int) string {
		texts[i%number] = fmt.Sprintf(`"%d":"%05d%s"`, i%number, i, strings.Repeat("x", 2000))
		data := strings.Join(texts, ",")
		annotation := strings.ReplaceAll(data, `"`, ".")
		return `{"kind":"A","metadata":{"name":"a","annotations":{"a":"` + annotation + `"}},"data":{` + data + `}}`
	}
	for i := range texts {
		texts[i] = fmt.Sprintf(`"%d":""`, i)
	}
	before := heap()
	for i := range 3 * number {
		current = decode(t, object(i), options)
	}
	kept, most := int64(heap())-int64(before), int64(1<<20)
	t.Logf("%d KiB", kept>>10)
	if kept > most {
		t.Errorf("after %d updates %d bytes are kept, want at most %d", 3*number, kept, most)
	}
	runtime.KeepAlive(current)
}

// TestEncoderForgetsLargeObjects checks that a large object does not make all later ones dearer.
func TestEncoderForgetsLargeObjects(t *testing.T) {
	e := &encoder{}
	fields := map[string]any{}
	for i := range 10 * maxIdleNames {
		fields[fmt.Sprint(i)] = nil
	}
	if _, err := e.value(nil, fields); err != nil {
		t.Fatal(err)
	}
	if e.forget(); cap(e.names) > maxIdleNames {
		t.Errorf("%d names are kept", cap(e.names))
	}
}
