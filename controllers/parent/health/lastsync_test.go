package health

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// TestLastSyncs checks what counts as changed, and forgets parents that are gone.
func TestLastSyncs(t *testing.T) {
	l := NewLastSyncs(clocktesting.NewFakeClock(time.Unix(1000, 0)))
	key := controller.Key{Namespace: "default", Name: "a"}
	for _, c := range []struct {
		reason  string
		uid     types.UID
		now     LastSync
		changed bool
	}{
		{"The first sync.", "1", LastSync{Revision: "A", Result: ResultFailed}, true},
		{"The same again is no news.", "1", LastSync{Revision: "A", Result: ResultFailed}, false},
		{"Another revision.", "1", LastSync{Revision: "B", Result: ResultFailed}, true},
		{"Another result.", "1", LastSync{Revision: "B", Result: ResultMoving}, true},
		{"Another object of the name has no past.", "2", LastSync{Revision: "B", Result: ResultMoving}, true},
	} {
		if changed := l.set(key, c.uid, c.now); changed != c.changed {
			t.Errorf("%s changed %t, want %t", c.reason, changed, c.changed)
		}
		if got := l.Of(c.uid); got != c.now {
			t.Errorf("%s %+v", c.reason, got)
		}
	}
	if l.Forget(key); len(l.byParent) > 0 || len(l.byKey) > 0 {
		t.Errorf("%v %v are left of a parent that is gone", l.byParent, l.byKey)
	}
}

// TestFailsForGood tells failures of scripts from those of the host and the API server.
func TestFailsForGood(t *testing.T) {
	errBoom := errors.New("boom")
	for name, c := range map[string]struct {
		reason string
		retry  controller.Retry
		err    error
		want   bool
	}{
		"a script":      {"It fails on its input.", controller.Deterministic, errBoom, true},
		"a webhook":     {"It may be the edit that calls for another one.", controller.HookFailed, errBoom, true},
		"refused":       {"What the scripts want is not accepted.", controller.Invalid, errBoom, true},
		"a conflict":    {"It passes with the next version.", controller.Conflict, errBoom, false},
		"unavailable":   {"The API server says nothing about scripts.", controller.Unavailable, errBoom, false},
		"a busy host":   {"It says nothing about scripts.", controller.Waiting, parenttest.BusyHost, false},
		"too slow":      {"The script itself takes too long.", controller.TimedOut, &engines.Error{Kind: engines.Timeout}, true},
		"being deleted": {"An object is to go first.", controller.Waiting, controller.ErrLater, false},
	} {
		if got := isTerminal(c.retry, c.err); got != c.want {
			t.Errorf("%s: %t: %s", name, got, c.reason)
		}
	}
}

// TestSyncOfBusyHost checks that a sync for which the host had no worker says nothing of the parent: only when that was is noted.
func TestSyncOfBusyHost(t *testing.T) {
	now, changes := time.Unix(1000, 0), 0
	l := NewLastSyncs(clocktesting.NewFakeClock(now))
	l.SetEnabled(true)
	key, uid := controller.Key{Name: "p"}, types.UID("p-uid")
	sync := func(err error) {
		if l.Note(key, uid, Sync{Revision: "B", Retry: controller.Waiting, Err: err}) {
			changes++
		}
	}
	known := LastSync{Revision: "A", Result: ResultUnready, Message: "ConfigMap x is not ready"}
	l.set(key, uid, known)
	sync(controller.ErrLater)
	if got := l.Of(uid); got.Revision != "B" || !l.BusyAt().IsZero() || changes != 1 {
		t.Errorf("a sync that is put off for another reason: %+v, busy at %v, %d changes", got, l.BusyAt(), changes)
	}
	l.set(key, uid, known)
	sync(parenttest.BusyHost)
	if got := l.Of(uid); got != known || !l.BusyAt().Equal(now) || changes != 1 {
		t.Errorf("a busy host: %+v, busy at %v, %d changes", got, l.BusyAt(), changes)
	}
}
