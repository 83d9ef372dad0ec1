//go:build linux

package hostile

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines/sandbox"
)

// tries is how often an attack may be late, or wait for a worker in vain, before that is no longer put down to what
// else the machine does. A program that was killed as often is parked.
const tries = 3

// lanes is how many attacks run at once: many of them wait for a deadline.
const lanes = 4

// TestContained runs every attack, each followed by an innocent call in the same pool.
func TestContained(t *testing.T) {
	given := givenTerms()
	c := newCanary(t)
	all := corpus(t, c)
	host := observeHost(t)
	waiting := make(chan attack)
	worst := &slowest{}
	var group sync.WaitGroup
	for range lanes {
		l := newLane(t, given, sandbox.Config{})
		group.Go(func() {
			for a := range waiting {
				t.Run(a.language+"/"+a.name, func(t *testing.T) { l.withstand(t, a, worst) })
			}
		})
	}
	for _, a := range all {
		waiting <- a
	}
	close(waiting)
	group.Wait()
	if n := c.touched.Load(); n > 0 {
		t.Errorf("%d connections or packets came from scripts", n)
	}
	host.checkUnharmed(t)
	runtime.KeepAlive(all) // They were there before, too.
	t.Logf("%d attacks; %s", len(all), worst)
}

// withstand runs the attack and checks its result.
func (l *lane) withstand(t *testing.T, a attack, worst *slowest) {
	given := l.terms.of(a)
	r := l.run(t.Context(), a, given)
	slow := time.Duration(0)
	for n := 1; (r.late(given, slow) || r.starved()) && n < tries; n++ {
		slow = l.slowness(t.Context())
		t.Logf("once more, because the load took %v and the call %v, where a loop is %v late: %v", r.loading, r.calling, slow, r.err)
		r = l.run(t.Context(), a, given)
	}
	if r.late(given, slow) {
		t.Errorf("the load took %v and the call %v, where a loop is %v late", r.loading, r.calling, slow)
	}
	worst.note(a.name, "load", r.loading)
	worst.note(a.name, "call", r.calling-given.deadline)
	if secret := leaked(r.text()); secret != "" {
		t.Errorf("%q came out in %.300s", secret, r.text())
	}
	if !classes[a.class()].allows(r.kind()) {
		t.Errorf("%s: %.300s", r.kind(), r.text())
	}
	for _, complaint := range r.complaints() {
		t.Error(complaint)
	}
	if err := l.stillGood(t.Context(), a.language); err != nil {
		t.Errorf("the next call: %v", err)
	}
	t.Logf("%v, %v: %s: %.200s", r.loading.Round(time.Millisecond), r.calling.Round(time.Millisecond), r.kind(), r.text())
}

// endless is the plainest attack.
var endless = one("JavaScript", "sync.js", "export function sync() { for (;;); }")

// slowness is how much later than asked for a loop is stopped at present, which says how busy the machine is.
func (l *lane) slowness(ctx context.Context) time.Duration {
	a := endless
	a.files = map[string]string{a.name: fmt.Sprintf("%s // %d", a.files[a.name], l.calls)} // A new text, which is not parked.
	r := l.run(ctx, a, l.terms)
	return max(r.loading-l.terms.loading, r.calling-l.terms.deadline, 0)
}

func (l *lane) run(ctx context.Context, a attack, given terms) (r result) {
	loading, cancel := context.WithTimeout(ctx, given.loading)
	defer cancel()
	began := time.Now()
	program, err := l.compile(loading, a)
	r.loading = time.Since(began)
	if err != nil {
		r.err = err
		return r
	}
	calling, cancel := context.WithTimeout(ctx, given.deadline)
	defer cancel()
	began = time.Now()
	r.answer, r.err = program.Run(calling, request("attack"))
	r.calling = time.Since(began)
	return r
}
