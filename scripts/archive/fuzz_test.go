package archive

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// FuzzDecode decodes any data of a ControllerRevision. Memory is bounded, however small the data is, and
// files that can be read survive being archived again.
func FuzzDecode(f *testing.F) {
	for _, files := range []map[string]string{nil, {"sync.js": "text"}, {"a": strings.Repeat("line\n", 100<<10)}} {
		data, _, err := encode(Revision{Files: files})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, "", 0)
		if data, err = encodePacked(files); err != nil {
			f.Fatal(err)
		}
		f.Add(data, "", 0)
	}
	f.Add([]byte(`{"gzip":"AAAA"}`), "", 0)
	f.Add([]byte(`{"gzip":null,"files":{"a":1}}`), "", 0)
	f.Add([]byte(nil), `{"a":"b"}`, 0)
	f.Add([]byte(nil), `"a":"b",`, 1<<20) // A bomb.
	f.Fuzz(func(t *testing.T, data []byte, packed string, times int) {
		if data == nil || packed != "" {
			text := strings.Repeat(packed, max(0, min(times, (2*mostUnpacked)/(len(packed)+1)))) + packed
			data, _ = json.Marshal(content{Gzip: gzipped(t, text)}) // It never fails.
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		found, err := decode(data)
		runtime.ReadMemStats(&after)
		if allocated, most := after.TotalAlloc-before.TotalAlloc, uint64(20*len(data)+8*mostUnpacked); allocated > most {
			t.Errorf("%d bytes made it allocate %d", len(data), allocated)
		}
		if err != nil {
			if found.Files != nil {
				t.Errorf("an error and files: %v", err)
			}
			return
		}
		again, parts, err := encode(Revision{Files: found.Files})
		if err != nil {
			return // They are no texts.
		}
		if len(parts) > 0 {
			if merged := mergedParts(parts); !cmp.Equal(found.Files, merged) {
				t.Errorf("cut and merged (-first +second):\n%s", cmp.Diff(found.Files, merged))
			}
			return
		}
		if got, err := decode(again); err != nil || !cmp.Equal(found.Files, got.Files, cmpopts.EquateEmpty()) {
			t.Errorf("error %v; decoded again (-first +second):\n%s", err, cmp.Diff(found.Files, got.Files))
		}
	})
}
