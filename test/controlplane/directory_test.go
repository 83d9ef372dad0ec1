package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestTemporaryDirectoryLeavesRoomForTheSocket(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("x", maxSocketPath))
	t.Setenv("TMPDIR", long)
	d, err := openDirectory("")
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	if strings.HasPrefix(d.path, long) {
		t.Errorf("want another place than %s", long)
	}
}

func TestDirectoryTooLongForTheSocket(t *testing.T) {
	_, err := openDirectory(filepath.Join(t.TempDir(), strings.Repeat("x", maxSocketPath)))
	if err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("want an error about the path's length, got %v", err)
	}
}

func TestLastLines(t *testing.T) {
	cases := map[string]struct{ text, want string }{
		"fewer": {"a\n", "a"},
		"more":  {"a\nb\nc\n", "b\nc"},
		"none":  {"", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := lastLines(c.text, 2); got != c.want {
				t.Errorf("want %q, got %q", c.want, got)
			}
		})
	}
}
