package hosted

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

// TestHalves previews as many parents as are passed in halves: each is called about once, one at a time, and counts.
func TestHalves(t *testing.T) {
	const boxes = 2 * minHalves
	s := settled(t, "InPlace", script, "", making("1", three), boxes, nil)
	var turn sync.Mutex
	called := map[string]int{}
	next := making("2", nil)
	sync := next["sync"]
	next.with("sync", func(call engines.Call) (any, error) {
		if !turn.TryLock() {
			t.Error("a call is made during another one")
			turn.Lock()
		}
		defer turn.Unlock()
		name, _, _ := unstructured.NestedString(call.Request, "parent", "metadata", "name")
		called[name]++
		response, err := sync.Run(t.Context(), call)
		return response.Body, err
	})
	want := fmt.Sprintf("it would delete %d of %[1]d children of %d of %[2]d parents, first ConfigMap default/b000-0", 3*boxes, boxes)
	if got := s.preview(t, next, boxes); got != (scripts.Preview{Held: want, Summary: fmt.Sprintf("previewed on %d of %[1]d parents", boxes)}) {
		t.Errorf("%+v, want held: %s", got, want)
	}
	for name, n := range called {
		if n != 1 || len(called) != boxes {
			t.Errorf("%d calls about %s, %d boxes", n, name, len(called))
		}
	}
}

// TestWaitsWithoutLosingTime has a call wait for another one until the time is over that the pass gave it.
func TestWaitsWithoutLosingTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 10 * time.Second
		c := newCalls(t.Context(), time.Now().Add(time.Hour))
		ctx, cancel := engines.WithTimeout(t.Context(), timeout)
		defer cancel()
		var until time.Time
		called := make(chan error, 1)
		c.turn <- struct{}{}
		go func() {
			_, err := background{Program: deadlineProgram{until: &until}, calls: c, patient: true}.Run(ctx, engines.Call{})
			called <- err
		}()
		<-ctx.Done()
		synctest.Wait()
		<-c.turn
		if err := <-called; err != nil || time.Until(until) != timeout {
			t.Errorf("it has %s left, want %s: %v", time.Until(until), timeout, err)
		}
	})
}

// deadlineProgram notes until when a call may take.
type deadlineProgram struct {
	engines.ProgramBase
	until *time.Time
}

func (p deadlineProgram) Run(ctx context.Context, _ engines.Call) (engines.Response, error) {
	*p.until, _ = ctx.Deadline()
	return engines.Response{}, nil
}

// TestPanicOfHalf expects that a panic comes to where it is recovered, and does not end the host.
func TestPanicOfHalf(t *testing.T) {
	wait := goRecovering(func() (int, error) { panic("no") })
	defer func() {
		if cause := recover(); cause != "no" {
			t.Errorf("recovered %v", cause)
		}
	}()
	_, _ = wait()
	t.Error("it returned")
}

// TestHalfFails expects what the other half returns.
func TestHalfFails(t *testing.T) {
	want := errors.New("no")
	if n, err := goRecovering(func() (int, error) { return 7, want })(); n != 7 || err != want {
		t.Errorf("%d, %v", n, err)
	}
}
