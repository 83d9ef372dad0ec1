package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRoundTrip(t *testing.T) {
	files := map[string]string{"sync.js": "a", "lib/deep/é.js": strings.Repeat("b", 5000), "empty.json": "", strings.Repeat("long/", 60) + "x": "c"}
	packed, err := Pack(files)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Unpack(string(packed))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(files, got); diff != "" {
		t.Error(diff)
	}
	for range 20 {
		if again, err := Pack(files); err != nil || !bytes.Equal(again, packed) {
			t.Fatalf("the same files are other bytes: %v", err)
		}
	}
	files["sync.js"] = "b"
	other, err := Pack(files)
	if err != nil || Hash(other) == Hash(packed) || len(Hash(other)) != 10 {
		t.Errorf("hashes %s and %s: %v", Hash(other), Hash(packed), err)
	}
}

// TestLargest packs as many and as large files as there may be.
func TestLargest(t *testing.T) {
	files := map[string]string{}
	for n := range MaxFiles {
		files[fmt.Sprintf("%s%04d", strings.Repeat("d", 1000), n)] = strings.Repeat(fmt.Sprint(n%10), MaxBytes/MaxFiles)
	}
	packed, err := Pack(files)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Unpack(string(packed)); err != nil || len(got) != MaxFiles {
		t.Errorf("%d files: %v", len(got), err)
	}
	files["more"] = ""
	if _, err := Pack(files); err == nil || !strings.Contains(err.Error(), "there are 10001 files, more than 10000") {
		t.Errorf("one more: %v", err)
	}
	if _, err := Pack(map[string]string{"a": strings.Repeat("a", MaxBytes+1)}); err == nil || !strings.Contains(err.Error(), "more than 16 MiB") {
		t.Errorf("a larger one: %v", err)
	}
	if _, err := Pack(map[string]string{"../a": ""}); err == nil {
		t.Error("a path that leaves the folder is packed")
	}
}

type entry struct {
	header tar.Header
	text   io.Reader
}

// archived returns an archive that Pack would not write.
func archived(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	compressed := gzip.NewWriter(&b)
	archive := tar.NewWriter(compressed)
	for _, e := range entries {
		e.header.Mode = 0o644
		if err := archive.WriteHeader(&e.header); err != nil {
			t.Fatal(err)
		}
		if e.text != nil {
			if _, err := io.Copy(archive, io.LimitReader(e.text, e.header.Size)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// zeros are many bytes that take little room when they are compressed.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestHostileArchives(t *testing.T) {
	file := func(name string) entry { return entry{header: tar.Header{Typeflag: tar.TypeReg, Name: name}} }
	many := make([]entry, MaxFiles+1)
	for n := range many {
		many[n] = file(fmt.Sprint(n))
	}
	whole, err := Pack(map[string]string{"a": strings.Repeat("abc", 1000)})
	if err != nil {
		t.Fatal(err)
	}
	var trailing bytes.Buffer
	compressed := gzip.NewWriter(&trailing)
	if _, err := io.CopyN(compressed, zeros{}, 100<<20); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		packed []byte
		want   string
	}{
		"large file":    {archived(t, entry{tar.Header{Typeflag: tar.TypeReg, Name: "a", Size: 64 << 20}, zeros{}}), `from "a" on, its files have more than 16 MiB`},
		"large files":   {archived(t, entry{tar.Header{Typeflag: tar.TypeReg, Name: "a", Size: 9 << 20}, zeros{}}, entry{tar.Header{Typeflag: tar.TypeReg, Name: "b", Size: 9 << 20}, zeros{}}), `from "b" on`},
		"many files":    {archived(t, many...), "it has more than 10000 files"},
		"many folders":  {archived(t, folders(200_000)...), "KiB when it is expanded"},
		"nothing":       {trailing.Bytes(), "KiB when it is expanded"},
		"above":         {archived(t, file("../a")), "is no path of a file"},
		"inside above":  {archived(t, file("a/../../b")), "is no path of a file"},
		"absolute":      {archived(t, file("/etc/passwd")), "is no path of a file"},
		"dot":           {archived(t, file("./a")), "is no path of a file"},
		"control":       {archived(t, file("a\x1b[2J")), "without control characters"},
		"no UTF-8":      {archived(t, file("a\xff")), "is no path of a file"},
		"backslash":     {archived(t, file(`a\..\b`)), "is no path of a file"},
		"link":          {archived(t, entry{header: tar.Header{Typeflag: tar.TypeSymlink, Name: "a", Linkname: "/etc/passwd"}}), "is no regular file"},
		"hard link":     {archived(t, entry{header: tar.Header{Typeflag: tar.TypeLink, Name: "a", Linkname: "b"}}), "is no regular file"},
		"device":        {archived(t, entry{header: tar.Header{Typeflag: tar.TypeChar, Name: "a"}}), "is no regular file"},
		"twice":         {archived(t, file("a"), file("a")), `"a" is there twice`},
		"no archive":    {[]byte("a text that is no archive"), "gzip: invalid header"},
		"cut":           {whole[:len(whole)-12], "unexpected EOF"},
		"bad checksum":  {append(bytes.Clone(whole[:len(whole)-8]), 0, 0, 0, 0, 0, 0, 0, 0), "gzip: invalid checksum"},
		"empty archive": {nil, "EOF"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := Unpack(string(c.packed)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func folders(n int) []entry {
	all := make([]entry, n)
	for i := range all {
		all[i].header = tar.Header{Typeflag: tar.TypeDir, Name: fmt.Sprintf("d%d/", i)}
	}
	return all
}

func TestExpand(t *testing.T) {
	packed, err := Pack(map[string]string{"lib/a.js": "a", "b.js": "b"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Expand(map[string]string{Key: string(packed), "c.js": "c"}, Unpack)
	if diff := cmp.Diff(map[string]string{"lib/a.js": "a", "b.js": "b", "c.js": "c"}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := Expand(map[string]string{Key: string(packed), "b.js": "c"}, Unpack); err == nil || !strings.Contains(err.Error(), `"b.js" is in the archive, and a key beside it`) {
		t.Errorf("a key that is in the archive: %v", err)
	}
	data := map[string]string{"a.js": "a"}
	if got, err := Expand(data, Unpack); err != nil || !cmp.Equal(got, data) {
		t.Errorf("without an archive: %v, %v", got, err)
	}
}

// FuzzUnpack checks that what is unpacked can be packed: so it keeps to the limits.
func FuzzUnpack(f *testing.F) {
	packed, err := Pack(map[string]string{"lib/a.js": "a", "b.js": "b"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed)
	f.Add(packed[:len(packed)/2])
	f.Fuzz(func(t *testing.T, packed []byte) {
		files, err := Unpack(string(packed))
		if err != nil {
			return
		}
		again, err := Pack(files)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Unpack(string(again)); err != nil || !cmp.Equal(files, got) {
			t.Errorf("%v: %v", err, cmp.Diff(files, got))
		}
	})
}
