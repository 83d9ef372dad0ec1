package serve

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/runtime/telemetry/verbosity"
)

func TestLogFormat(t *testing.T) {
	terminal, file := func() bool { return true }, func() bool { return false }
	for name, c := range map[string]struct {
		reason, asked string
		isTerminal    func() bool
		want          string
	}{
		"terminal":       {"People read a terminal.", "", terminal, "console"},
		"no terminal":    {"Programs read the rest.", "", file, "json"},
		"unknown":        {"So it is if nothing is known.", "", nil, "json"},
		"json asked":     {"A flag counts more.", "json", terminal, "json"},
		"console asked":  {"A flag counts more.", "console", file, "console"},
		"something else": {"The logger refuses what it does not know.", "xml", terminal, "xml"},
	} {
		if got := logFormat(c.asked, c.isTerminal); got != c.want {
			t.Errorf("%s: %s got %s, want %s", name, c.reason, got, c.want)
		}
	}
}

// TestLogger checks the lines of both formats, and which of them are written.
func TestLogger(t *testing.T) {
	for format, want := range map[string][]string{
		"json":    {`"level":"error"`, `"level":"warn"`, `"level":"info"`, `"level":"debug"`, `"level":"debug"`},
		"console": {"\tERROR\t", "\tWARN\t", "\tINFO\t", "\tDEBUG\t", "\tDEBUG\t"},
	} {
		for level, lines := range map[int]int{-2: 1, -1: 2, 0: 3, 1: 4, 4: 5} {
			var out bytes.Buffer
			log, err := newLogger(&out, format, level)
			if err != nil {
				t.Fatal(err)
			}
			log.Error(nil, "scripts did not load")
			verbosity.Warn(log, "hot loop", "parent", "a")
			log.Info("starts")
			log.V(verbosity.Decisions).Info("child written")
			log.V(verbosity.Values).Info("hook answered")
			got := strings.Split(strings.TrimSpace(out.String()), "\n")
			if len(got) != lines {
				t.Fatalf("%s at %d: %d lines, want %d:\n%s", format, level, len(got), lines, out.String())
			}
			for i, line := range got {
				if !strings.Contains(line, want[i]) || format == "json" && !json.Valid([]byte(line)) {
					t.Errorf("%s at %d: line %s, want one with %s", format, level, line, want[i])
				}
			}
		}
	}
	if _, err := newLogger(&bytes.Buffer{}, "xml", 0); err == nil || !strings.Contains(err.Error(), "json or console") {
		t.Errorf("error %v, want one with the formats", err)
	}
}
