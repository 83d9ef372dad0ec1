package parent

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/runtime/controller"
)

// TestConsole holds what two calls wrote, and logs it at the end of the pass.
func TestConsole(t *testing.T) {
	const cut = "(cut at 4 KiB, as the call or its pass failed, or the pass wrote more than 1 MiB)"
	short, long := []string{"a", "b"}, strings.Split(strings.Repeat("x ", 10_000), " ")
	cases := map[string]struct {
		reason               string
		verbosity            int
		lines                []string
		callFails, passFails bool
		logged               int // lines of this call; -1 is less than a tenth, and the last says so
	}{
		"success":         {"everything is logged", 1, long, false, false, len(long)},
		"short failure":   {"what fits is logged", 1, short, true, true, len(short)},
		"failed call":     {"a call that fails is repeated", 1, long, true, true, -1},
		"failed pass":     {"so is one whose answer was invalid", 1, long, false, true, -1},
		"tolerated error": {"the call has failed, and not its pass", 1, long, true, false, -1},
		"not asked for":   {"nothing is held or logged at -v=0", 0, long, false, false, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			var log []string
			logger := funcr.NewJSON(func(line string) { log = append(log, line) }, funcr.Options{Verbosity: c.verbosity})
			p := &pass{shared: &shared{config: Config{Definition: "MapController m"}, env: Environment{Log: logger}}}
			p.holdConsole("map", c.lines, c.callFails)
			p.holdConsole("sync", []string{"the other call"}, false)
			if len(log) > 0 {
				t.Errorf("%d lines are logged before the pass has end", len(log))
			}
			p.logConsole(c.passFails)
			last := ""
			if len(log) > 1 {
				last = log[len(log)-2] // The one before the other call's.
			}
			got := len(log) - c.verbosity
			if c.logged >= 0 && got != c.logged || c.logged < 0 && (got > len(c.lines)/10 || !strings.Contains(last, cut)) {
				t.Errorf("%d lines are logged, the last is %s", got, last)
			}
			if strings.Count(strings.Join(log, ""), cut) > 1 {
				t.Errorf("it is said more than once that the lines are cut")
			}
		})
	}
}

// TestConsoleOfManyCalls bounds what is held.
func TestConsoleOfManyCalls(t *testing.T) {
	p := &pass{shared: &shared{env: Environment{Log: funcr.New(func(string, string) {}, funcr.Options{Verbosity: 1})}}}
	for range 100 {
		p.holdConsole("map", []string{strings.Repeat("x", 64<<10)}, false)
	}
	if most := maxHeldConsole + 64<<10 + 100*maxFailedConsoleBytes; p.console.bytes > most {
		t.Errorf("%d bytes are held, want %d at most", p.console.bytes, most)
	}
}

var errOdd = errors.New("odd")

func TestShorten(t *testing.T) {
	short := fmt.Errorf("%w: %s", controller.ErrLater, "soon")
	if diff := cmp.Diff(short.Error(), shorten(short).Error()); diff != "" || shorten(nil) != nil {
		t.Errorf("a short error (-want +got):\n%s", diff)
	}
	long := shorten(errors.Join(errOdd, fmt.Errorf("%w: %s", controller.ErrLater, strings.Repeat("\x01", 100_000))))
	if n := len(long.Error()); n > maxErrorBytes+10 || !errors.Is(long, controller.ErrLater) || !errors.Is(long, errOdd) {
		t.Errorf("a long error has %d bytes: %.100s", n, long)
	}
}
