package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReference(t *testing.T) {
	path := filepath.Join(t.TempDir(), "values.yaml")
	values := `# What this file is.

# How many kettles
# boil at once.
kettles: 2
water:
  # In litres.
  amount: 0.5
  kind: ""
# Such as [{name: a}].
lids: []
# How it is told.
whistle:
  enabled: false
`
	if err := os.WriteFile(path, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run([]string{path}, &out); err != nil {
		t.Fatal(err)
	}
	want := "| `kettles` | `2` | How many kettles boil at once. |\n" +
		"| `water.amount` | `0.5` | In litres. |\n" +
		"| `water.kind` | `\"\"` |  |\n" +
		"| `lids` | `[]` | Such as `[{name: a}]`. |\n" +
		"| `whistle` | | How it is told. |\n" +
		"| `whistle.enabled` | `false` |  |\n"
	if got, found := strings.CutPrefix(out.String(), head); !found || got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestErrors(t *testing.T) {
	list := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(list, []byte("[a]"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{nil, {"missing.yaml"}, {list}} {
		if err := run(args, &bytes.Buffer{}); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
