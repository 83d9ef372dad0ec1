package archive

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestCodec(t *testing.T) {
	noise := make([]byte, 768<<10)
	rand.New(rand.NewSource(1)).Read(noise)
	cases := map[string]struct {
		reason string
		files  map[string]string
		plain  bool
	}{
		"Small": {reason: "people can read and compare small files", files: map[string]string{"sync.js": "a\nb\"ü", "lib/k.js": ""}, plain: true},
		"Large": {reason: "large files are compressed", files: map[string]string{"sync.js": strings.Repeat("line\n", 100<<10)}},
		"Dense": {reason: "a part fits even if it hardly compresses", files: map[string]string{"sync.js": base64.StdEncoding.EncodeToString(noise)[:maxPartBytes]}},
		"Marks": {reason: "nor do characters that JSON has to write in six", files: map[string]string{"sync.js": strings.Repeat("\x01\"<", maxPartBytes/3)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			data, parts, err := encode(Revision{Files: tc.files})
			if tc.plain == (len(parts) > 0) {
				t.Errorf("%s: %d parts, want none of plain files only", tc.reason, len(parts))
			}
			if !tc.plain {
				data, err = encodePacked(tc.files)
			}
			if err != nil {
				t.Fatalf("%s: encode: %v", tc.reason, err)
			}
			if len(data) > mostBytes || bytes.Contains(data, []byte("lib/k.js")) != tc.plain {
				t.Errorf("%s: %d bytes, want at most %d, plain %v", tc.reason, len(data), mostBytes, tc.plain)
			}
			got, err := decode(data)
			if diff := cmp.Diff(tc.files, got.Files); err != nil || diff != "" {
				t.Errorf("%s: decode: error %v, -want, +got:\n%s", tc.reason, err, diff)
			}
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	noise := make([]rune, 512<<10)
	for i, random := 0, rand.New(rand.NewSource(1)); i < len(noise); i++ {
		noise[i] = rune(0x10000 + random.Intn(0x80000))
	}
	if _, err := encodePacked(map[string]string{"x": string(noise)}); err == nil || !strings.Contains(err.Error(), "too large to be kept") {
		t.Errorf("what fits into no object: error %v, want one that says so", err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	packed := func(text string) string {
		data, err := json.Marshal(content{Gzip: gzipped(t, text)})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	var many strings.Builder
	for i := range maxFiles + 1 {
		fmt.Fprintf(&many, `"%d":"",`, i)
	}
	cases := map[string]struct{ reason, data, want string }{
		"NotGzip": {"what is no archive is reported", `{"gzip": "eHh4"}`, "EOF"},
		"NotJSON": {"nor is what it holds taken for files", packed("x"), "invalid character"},
		"Bomb":    {"a small object must not fill the host's memory", packed(strings.Repeat(" ", mostUnpacked+1)), "unfolds to more than 8 MiB"},
		"Many":    {"nor must many small files, each of which takes more memory than text", packed("{" + many.String() + `"x":""}`), "more than 10000 files"},
		"Half":    {"half an object is none", packed(`{"a":"b"`), "EOF"},
		"More":    {"nor is one with more behind it", packed(`{"a":"b"} {}`), "after the files"},
		"Null":    {"a text is a text", packed(`{"a":[]}`), "cannot unmarshal array"},
		"List":    {"files are by path", `{"files": ["a"]}`, "cannot unmarshal array"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := decode([]byte(tc.data)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: error %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

// gzipped returns text, compressed.
func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestName(t *testing.T) {
	long := strings.Repeat("long.", 50) + "end"
	place := func(kind, name string) Location {
		return Location{Owner: metav1.OwnerReference{Kind: kind, Name: name}}
	}
	if got, want := place("CompositeController", "catset").Name("ab12"), "composite-catset-ab12"; got != want {
		t.Errorf("name %q, want %q", got, want)
	}
	one, two := place("MapController", long).Name("ab12"), place("MapController", long[:len(long)-1]+"x").Name("ab12")
	for _, name := range []string{one, two} {
		if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 || !strings.HasSuffix(name, "-ab12") {
			t.Errorf("name %q of a long definition: %v", name, problems)
		}
	}
	if one == two {
		t.Errorf("two definitions have the same name %q", one)
	}
}
