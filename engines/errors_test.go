package engines

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var errBoom = errors.New("boom")

func TestErrorText(t *testing.T) {
	cases := map[string]struct {
		reason       string
		err          Error
		text, detail string
	}{
		"place": {
			reason: "the place comes first, as compilers write it",
			err:    Error{Location: Location{File: "sync.js", Line: 3, Column: 9}, Message: "boom"},
			text:   "sync.js:3:9: boom", detail: "sync.js:3:9: boom",
		},
		"no column": {
			reason: "what is not known is left out",
			err:    Error{Location: Location{File: "sync.js", Line: 3}, Message: "boom"},
			text:   "sync.js:3: boom", detail: "sync.js:3: boom",
		},
		"no line": {
			reason: "what is not known is left out",
			err:    Error{Location: Location{File: "sync.js"}, Message: "boom"},
			text:   "sync.js: boom", detail: "sync.js: boom",
		},
		"no place": {
			reason: "a line without a file says nothing",
			err:    Error{Location: Location{Line: 3}, Message: "boom", Stack: []string{"at a", "at b"}},
			text:   "boom", detail: "boom\n    at a\n    at b",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			if diff := cmp.Diff([]string{c.text, c.detail}, []string{c.err.Error(), c.err.Detail()}); diff != "" {
				t.Errorf("Error and Detail (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKinds(t *testing.T) {
	want := map[Kind]string{
		Failed: "HookFailed", Invalid: "ScriptInvalid", BadResponse: "HookResponseInvalid",
		Timeout: "HookTimedOut", Exhausted: "HookLimitExceeded", Busy: "HostBusy",
	}
	for kind, reason := range want {
		wrapped := fmt.Errorf("hook sync: %w", &Error{Kind: kind, Err: errBoom})
		if got := KindOf(wrapped); got != kind || got.Reason() != reason || !errors.Is(wrapped, errBoom) {
			t.Errorf("kind of %v: %s, want %s, with its cause", wrapped, got.Reason(), reason)
		}
		if is := errors.Is(wrapped, ErrNoWorker); is != (kind == Busy) {
			t.Errorf("kind %s is ErrNoWorker: %t", reason, is)
		}
	}
	if got := KindOf(errBoom); got != Failed {
		t.Errorf("an error from elsewhere is of kind %s, want %s", got.Reason(), Failed.Reason())
	}
}

func TestEnded(t *testing.T) {
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	given, giveUp := context.WithCancel(t.Context())
	giveUp()
	if e := Ended(late); e.Kind != Timeout || !errors.Is(e, context.DeadlineExceeded) {
		t.Errorf("after a deadline: kind %s, cause %v", e.Kind.Reason(), e.Err)
	}
	own, end := context.WithCancelCause(t.Context())
	end(context.DeadlineExceeded)
	if e := Ended(own); e.Kind != Timeout || !errors.Is(e, context.DeadlineExceeded) {
		t.Errorf("after a deadline by another clock: kind %s, cause %v", e.Kind.Reason(), e.Err)
	}
	if e := Ended(given); e.Kind != Failed || !errors.Is(e, context.Canceled) {
		t.Errorf("after a cancel: kind %s, cause %v", e.Kind.Reason(), e.Err)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 10, 3, 12, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		reason, header string
		want           time.Duration
	}{
		"seconds":  {"the common form", "120", 2 * time.Minute},
		"spaces":   {"proxies add them", " 5 ", 5 * time.Second},
		"date":     {"the other form", "Sat, 03 Oct 2026 12:00:30 GMT", 30 * time.Second},
		"past":     {"no time at all would be a hot loop, so it is as if absent", "Sat, 03 Oct 2026 11:00:00 GMT", 0},
		"negative": {"as a date in the past", "-5", 0},
		"absent":   {"the caller has a backoff of its own", "", 0},
		"nonsense": {"as if absent", "soon", 0},
		"huge":     {"no overflow into the past", "9223372036854775807", 9223372036 * time.Second},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			if got := RetryAfter(c.header, now); got != c.want {
				t.Errorf("RetryAfter(%q) = %v, want %v", c.header, got, c.want)
			}
		})
	}
}
