package controller

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
)

// failureLogTest is a failureLog whose lines are kept. Warnings have level -1.
type failureLogTest struct {
	*failureLog
	clock *clocktesting.FakeClock
	lines []string
}

func newFailureLogTest(verbosity int) *failureLogTest {
	l := &failureLogTest{clock: clocktesting.NewFakeClock(time.Unix(0, 0))}
	log := funcr.New(func(_, args string) { l.lines = append(l.lines, args) }, funcr.Options{Verbosity: verbosity})
	l.failureLog = newFailureLog(Config{
		Log: log, Clock: l.clock, FailureDetails: func(error) []any { return []any{"stack", "at sync.js:1:2"} },
	})
	return l
}

func (l *failureLogTest) take() []string {
	defer func() { l.lines = nil }()
	return l.lines
}

// TestFailureLog follows parents that fail, go on failing, fail in another way and recover.
func TestFailureLog(t *testing.T) {
	l, a, b := newFailureLogTest(0), Key{Name: "a"}, Key{Name: "b"}
	expect := func(reason string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, l.take()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
	l.add(a, errors.New("boom after 12 ms"), 1)
	expect("One line for a failure, with the stack.",
		`"level"=-1 "msg"="reconcile failed" "key"=" a" "failures"=1 "error"="boom after 12 ms" "stack"="at sync.js:1:2"`)
	l.add(a, errors.New("boom after 13 ms"), 2)
	expect("The same failure is counted: numbers do not make it another one.")
	l.add(a, errors.New("bang"), 3)
	l.add(b, errors.New("bang"), 1)
	expect("Another failure is a change, and so is that of another parent.",
		`"level"=-1 "msg"="reconcile failed" "key"=" a" "failures"=3 "error"="bang" "stack"="at sync.js:1:2"`,
		`"level"=-1 "msg"="reconcile failed" "key"=" b" "failures"=1 "error"="bang" "stack"="at sync.js:1:2"`)
	l.summarize()
	expect("It is not time for a summary.")
	l.clock.Step(failuresInterval)
	l.summarize()
	l.summarize()
	expect("One summary, of what had no line.",
		`"level"=-1 "msg"="reconciles go on failing" "failing"=2 "failures"=4 "omitted"=0 "within"="1m0s" "example"=" b" "error"="bang"`)
	l.forget(a)
	expect("One still fails.")
	l.forget(b)
	l.forget(b)
	expect("The last one recovers, once.", `"level"=0 "msg"="nothing fails any more"`)
	l.add(a, errors.New("bang"), 1)
	expect("A failure after a success is a change, though it is the same as before.",
		`"level"=-1 "msg"="reconcile failed" "key"=" a" "failures"=1 "error"="bang" "stack"="at sync.js:1:2"`)
	l.clock.Step(failuresInterval)
	l.summarize()
	expect("Nothing was left out, so that there is nothing to sum up.")
}

// TestManyFailures checks that the number of lines does not grow with that of parents that fail.
func TestManyFailures(t *testing.T) {
	l, parents := newFailureLogTest(0), 1000
	for retry := range 3 {
		for i := range parents {
			text := "boom"
			if i == parents-1 {
				text = "bang" // It is never logged by itself.
			}
			l.add(Key{Name: fmt.Sprint(i)}, errors.New(text), retry+1)
		}
	}
	l.clock.Step(failuresInterval)
	l.summarize()
	lines := l.take()
	if len(lines) != maxWarnings+1 {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), maxWarnings+1, strings.Join(lines, "\n"))
	}
	want := `"level"=-1 "msg"="reconciles go on failing" "failing"=1000 "failures"=3000 "omitted"=990 "within"="1m0s" "example"=" 999" "error"="bang"`
	if diff := cmp.Diff(want, lines[maxWarnings]); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

// TestExampleOfFailures checks that the summary names only what still fails.
func TestExampleOfFailures(t *testing.T) {
	l := newFailureLogTest(0)
	for _, key := range []Key{{Name: "a"}, {Name: "b"}} {
		l.add(key, errors.New("boom"), 1)
		l.add(key, errors.New("boom"), 2)
	}
	l.forget(Key{Name: "b"})
	l.take()
	l.clock.Step(failuresInterval)
	l.summarize()
	want := []string{`"level"=-1 "msg"="reconciles go on failing" "failing"=1 "failures"=4 "omitted"=0 "within"="1m0s"`}
	if diff := cmp.Diff(want, l.take()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRepeatedFailures checks that a definition that is listened to has a line for each failure.
func TestRepeatedFailures(t *testing.T) {
	l := newFailureLogTest(1)
	for i := range 3 {
		l.add(Key{Name: "a"}, errors.New("boom"), i+1)
	}
	l.forget(Key{Name: "a"})
	if got := strings.Join(l.take(), "\n"); strings.Count(got, "boom") != 3 || !strings.Contains(got, "succeeded again") {
		t.Errorf("want three failures and a success:\n%s", got)
	}
}

func TestSignature(t *testing.T) {
	for message, want := range map[string]string{
		"":                                    "",
		"no numbers":                          "no numbers",
		"sync.js:14:9: x is undefined":        "sync.js:#:#: x is undefined",
		"Pod default/web-7f9c exists, 3 of 5": "Pod default/web-# exists, # of #",
		"request 0a1b2c3d-4e5f-6a7b: status 503!":  "request #-#-#: status #!",
		"job 0a1b2c3d-beef-4abc-cafe-abcdefabcdef": "job #-#-#-#-#",
		"Pod web-7d9f8b6c5-xkzpq is not ready":     "Pod web-#-# is not ready",
		"Pod web-xkzpq is not ready":               "Pod web-# is not ready",
		"ConfigMap app-2-cache, app-2-users":       "ConfigMap app-#-cache, app-#-users",
		"deadbeef xkzpq":                           "deadbeef xkzpq",
		"-5 - 3-way":                               "-# - #-way",
		"größer als 2µs":                           "größer als #",
	} {
		if got := Signature(message); got != want {
			t.Errorf("Signature(%q) = %q, want %q", message, got, want)
		}
	}
}
