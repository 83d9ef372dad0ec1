package steps

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDuration(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0 ms":   0,
		"31 ms":  31400 * time.Microsecond,
		"0.4 s":  432 * time.Millisecond,
		"12.3 s": 12345 * time.Millisecond,
		"180 s":  3 * time.Minute,
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestCommandLine(t *testing.T) {
	for want, args := range map[string][]string{
		"kubectl scale catset nginx -n demo --replicas=5": {"scale", "catset", "nginx", "-n", "demo", "--replicas=5"},
		`kubectl get -o 'jsonpath={.a}'`:                  {"get", "-o", "jsonpath={.a}"},
		`kubectl 'it'\''s' ''`:                            {"it's", ""},
	} {
		if got := CommandLine("kubectl", args...); got != want {
			t.Errorf("CommandLine(%q) = %s, want %s", args, got, want)
		}
	}
}

// TestColours checks that there are colours only on a terminal, and that they are reset.
func TestColours(t *testing.T) {
	for name, c := range map[string]struct {
		colour bool
		want   string
	}{
		"Log":      {false, "  ok  it is so\n"},
		"Terminal": {true, "  \033[32mok\033[0m  it is so\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			NewReport(Environment{Stdout: &out, Terminal: c.colour, Colour: c.colour}).OKf("it is %s", "so")
			if d := cmp.Diff(c.want, out.String()); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestProgress checks that the line is overwritten on a terminal, and that a log has none for a quick task.
func TestProgress(t *testing.T) {
	for name, c := range map[string]struct {
		terminal bool
		want     string
	}{
		"Log":      {false, ""},
		"Terminal": {true, "\r\033[K  ... it lasts (0.2 s)"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			synctest.Test(t, func(*testing.T) { // With a fake clock.
				r := NewReport(Environment{Stdout: &out, Terminal: c.terminal})
				_ = r.WithProgress("it lasts", func() error {
					time.Sleep(terminalTick + terminalTick/2)
					return nil
				})
			})
			if !strings.HasPrefix(out.String(), c.want) || (c.want == "" && out.Len() > 0) {
				t.Errorf("got %q, want %q", out.String(), c.want)
			}
			if c.terminal && !strings.HasSuffix(out.String(), "\r\033[K") {
				t.Errorf("the line is still there: %q", out.String())
			}
		})
	}
}

func TestSummary(t *testing.T) {
	steps := []Step{{Title: "Three Pods"}, {Title: "Scale to five"}, {Title: "Edit the script"}}
	outcomes := []outcome{
		{took: 400 * time.Millisecond},
		{took: 30 * time.Second, err: errors.New("boom")},
	}
	var out bytes.Buffer
	r := NewReport(Environment{Stdout: &out})
	r.summary(outcomes, Program{Steps: steps}, nil)
	want := []string{
		"",
		"Summary",
		"   1  Three Pods                          0.4 s  ok",
		"   2  Scale to five                      30.0 s  FAILED",
		"   3  Edit the script                            not reached",
		"      in all                               0 ms",
		"",
		"Not every step came true: see FAILED above.",
		"",
	}
	if d := cmp.Diff(strings.Join(want, "\n"), out.String()); d != "" {
		t.Error(d)
	}
}

func TestSummaryOfSuccess(t *testing.T) {
	p := Program{Steps: []Step{{Title: "Three Pods"}}, Reading: [][2]string{{"docs/a.md", "what comes next"}}}
	var out bytes.Buffer
	NewReport(Environment{Stdout: &out}).summary([]outcome{{}}, p, nil)
	for _, want := range []string{"Every step came true.", "docs/a.md", "what comes next"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %q, want %q in it", out.String(), want)
		}
	}
}

func TestFailure(t *testing.T) {
	var out bytes.Buffer
	err := TimeoutError{Expected: "five Pods are Ready", Limit: time.Minute, Seen: "nginx-0 Ready, nginx-1 Pending"}
	NewReport(Environment{Stdout: &out}).failure(err, strings.Repeat("old\n", 5)+strings.Repeat("new\n", logTail))
	got := out.String()
	if !strings.Contains(got, "FAILED  expected within 60.0 s: five Pods are Ready; last seen: nginx-0 Ready, nginx-1 Pending\n") {
		t.Errorf("the failure is not printed: %s", got)
	}
	if strings.Contains(got, "old") || strings.Count(got, "new") != logTail {
		t.Errorf("want the last %d lines of the log, got %s", logTail, got)
	}
}
