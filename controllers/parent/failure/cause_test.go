package failure

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

func TestCauseOf(t *testing.T) {
	thrown := func(line int, message string) error {
		return variant.HookError("sync", &engines.Error{Location: engines.Location{File: "sync.js", Line: line, Column: 7}, Message: message})
	}
	for name, c := range map[string]struct {
		reason string
		err    error
		want   Cause
	}{
		"script":  {"the place is that of the script", thrown(3, "boom"), Cause{"HookFailed", "HookFailed: sync hook: sync.js:3:7: boom", "sync.js:3:7"}},
		"webhook": {"a webhook has none", variant.HookError("sync", &engines.Error{Kind: engines.Timeout, Message: "late"}), Cause{"HookTimedOut", "HookTimedOut: sync hook: late", ""}},
		"write":   {"a write has its own reason", &Error{Reason: "FieldConflict", Err: errors.New("no")}, Cause{"FieldConflict", "FieldConflict: no", ""}},
		"text":    {"a reason may be in the text", variant.Lasting(errors.New("input a: MarkMissing: Pod x/y")), Cause{"MarkMissing", "input a: MarkMissing: Pod x/y", ""}},
		"none":    {"or nowhere", errors.New("Pod: spec.selector: is required"), Cause{"SyncError", "Pod: spec.selector: is required", ""}},
		"place":   {"a word of the text is none if the API server would refuse it", errors.New("ÜberFall: no"), Cause{"SyncError", "ÜberFall: no", ""}},
		"long":    {"nor is one without end", errors.New(strings.Repeat("Aa", 40) + ": no"), Cause{"SyncError", strings.Repeat("Aa", 40) + ": no", ""}},
		"several": {"of several the first counts", errors.Join(thrown(3, "boom"), errors.New("other")), Cause{"HookFailed", "HookFailed: sync hook: sync.js:3:7: boom other", "sync.js:3:7"}},
		"later":   {"what is always postponed has no words of the queue", fmt.Errorf("%w: conflict", controller.ErrLater), Cause{"SyncError", "conflict", ""}},
		"control": {"a terminal does not obey it", thrown(3, "\x1b[31mred"), Cause{"HookFailed", "HookFailed: sync hook: sync.js:3:7: \ufffd[31mred", "sync.js:3:7"}},
	} {
		if got := CauseOf(c.err); got != c.want {
			t.Errorf("%s: %s: %+v, want %+v", name, c.reason, got, c.want)
		}
	}
	if long := CauseOf(thrown(3, string(make([]byte, 10_000)))); len(long.Message) > 4*maxCauseBytes {
		t.Errorf("%d bytes are kept of a message", len(long.Message))
	}
}
