package bundle

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math/rand"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/scripts/bundle"
)

// noise returns a text that packs into about three quarters of its bytes.
func noise(bytes int) string {
	random := make([]byte, bytes*3/4)
	rand.New(rand.NewSource(1)).Read(random)
	return base64.StdEncoding.EncodeToString(random)
}

func TestPack(t *testing.T) {
	small := map[string]string{}
	for n := range 3000 {
		small[fmt.Sprintf("lib/%d.libsonnet", n)] = ""
	}
	with := func(files map[string]string) map[string]string {
		maps.Copy(files, small)
		return files
	}
	cases := map[string]struct {
		reason   string
		files    map[string]string
		archives int
		err      string
	}{
		"small":  {"it fits", map[string]string{"a": "1"}, 1, ""},
		"two":    {"each fits, and both do not", map[string]string{"a": noise(800 << 10), "b": noise(800 << 10)}, 2, ""},
		"uneven": {"what fits has an archive of its own", with(map[string]string{"lib/1": noise(1300 << 10), "lib/2": noise(100 << 10)}), 2, ""},
		"too much": {"the file is named, however many others there are",
			with(map[string]string{"lib/1": noise(1500 << 10)}), 0, "lib/1 has 1129 KiB when it is packed"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			archives, err := pack(c.files)
			if (err == nil) != (c.err == "") || err != nil && !strings.HasPrefix(err.Error(), c.err) {
				t.Fatalf("%s: error %v, want %q", c.reason, err, c.err)
			}
			if len(archives) != c.archives {
				t.Errorf("%s: %d archives, want %d", c.reason, len(archives), c.archives)
			}
			all := map[string]string{}
			for _, packed := range archives {
				files, err := bundle.Unpack(string(packed))
				if err != nil || len(packed) > maxPacked {
					t.Errorf("%s: an archive of %d bytes: %v", c.reason, len(packed), err)
				}
				maps.Copy(all, files)
			}
			if err == nil && !maps.Equal(c.files, all) {
				t.Errorf("%s: unpacked they are other files", c.reason)
			}
		})
	}
}
