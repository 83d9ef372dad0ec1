package sandbox

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/owntime"
	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
)

// Reasons for a worker's exit, for metrics and logs.
const (
	reasonDeadline = "deadline"
	reasonCanceled = "canceled"
	reasonMemory   = "memory"
	reasonStack    = "stack"
	reasonCrash    = "crash"
	reasonProtocol = "protocol"
	reasonClosed   = "closed"
	reasonAge      = "age"
	reasonResident = "resident"
	reasonDomain   = "domain"
	reasonIdle     = "idle"
	reasonStart    = "start"
)

// exitReasons lists all of them.
var exitReasons = []string{
	reasonDeadline, reasonCanceled, reasonMemory, reasonStack, reasonCrash, reasonProtocol, reasonClosed, reasonAge, reasonResident,
	reasonDomain, reasonIdle, reasonStart,
}

// workerExit describes how a worker process ended.
type workerExit struct {
	// killReason is why the host killed it, or "" if the host did not.
	killReason string
	// status is the system's description, such as "exit status 2".
	status string
	// stderr is the beginning of its standard error, and dropped how many bytes of it were not kept.
	stderr  string
	dropped int64
	// deadline is how its time was over, if the host killed it for that, and limit how much of its own it had for the question.
	deadline owntime.End
	limit    time.Duration
	// grown is how much memory it had gained then, and cached what of that was not its script's.
	grown, cached int64
}

// isStarved reports whether the worker was killed, but has not had the time that its question may take: the machine is busy. One that has
// stopped itself is not starved.
func (d workerExit) isStarved() bool {
	return d.killReason == reasonDeadline && d.deadline.Own < d.limit && !d.deadline.Stopped
}

// isUnexpected reports whether the worker exited by itself, or was killed because it broke the protocol. If
// the host kills a worker for another reason, the error of the call says why.
func (d workerExit) isUnexpected() bool { return d.killReason == "" || d.killReason == reasonProtocol }

// reason returns why the worker exited. Without a kill by the host, it is derived from what the Go
// runtime printed.
func (d workerExit) reason() string {
	switch {
	case d.killReason != "":
		return d.killReason
	case strings.Contains(d.stderr, "stack exceeds"), strings.Contains(d.stderr, "fatal error: stack overflow"):
		return reasonStack
	case strings.Contains(d.stderr, "out of memory"), strings.Contains(d.stderr, "cannot allocate memory"),
		strings.Contains(d.stderr, "failed to create new OS thread"), strings.Contains(d.stderr, "pthread_create failed"),
		strings.HasPrefix(d.stderr, "SIGSEGV: "):
		// The runtime does not check every allocation of its own. A fault in Go code would be a panic.
		return reasonMemory
	default:
		return reasonCrash
	}
}

// err returns the error of the question that was being answered with that memory limit.
func (d workerExit) err(memory int64) *engines.Error {
	switch d.reason() {
	case reasonDeadline:
		took := d.deadline.Own.Round(time.Millisecond)
		if d.isStarved() {
			return busyError("the script worker had %v of a processor in %v: the host needs more CPU", took, d.deadline.Elapsed.Round(time.Second))
		}
		if d.grown-d.cached > memory/4*3 { // Collecting garbage took the time: what the script holds is the cause.
			return &engines.Error{Kind: engines.Exhausted, Message: fmt.Sprintf("%s: it held about %dMi after %v, when its worker was killed",
				protocol.MemoryLimitMessage(memory), (d.grown-d.cached)>>20, took)}
		}
		return &engines.Error{Kind: engines.Timeout, Err: context.DeadlineExceeded, Message: fmt.Sprintf(
			"did not answer within %v, and could not be interrupted: its worker was killed after its deadline", took)}
	case reasonCanceled:
		return &engines.Error{Kind: engines.Failed, Err: context.Canceled, Message: "the call was canceled"}
	case reasonMemory:
		return &engines.Error{Kind: engines.Exhausted, Message: protocol.MemoryLimitMessage(memory)}
	case reasonStack:
		return &engines.Error{Kind: engines.Exhausted, Message: "the script, or a value of it, is nested too deep: the stack limit of 64Mi is reached"}
	case reasonClosed:
		return &engines.Error{Kind: engines.Failed, Message: errClosed.Error(), Err: errClosed}
	default:
		return &engines.Error{Kind: engines.Failed, Message: "script worker crashed: " + d.summary()}
	}
}

// outcome returns what the exit says about the program that was running.
func (d workerExit) outcome() outcome {
	switch {
	case d.killReason == reasonCanceled, d.killReason == reasonClosed, d.isStarved():
		return inconclusive
	default:
		return fatal
	}
}

// summary returns the first line of stderr, or the status if stderr is empty, or what the worker broke.
func (d workerExit) summary() string {
	line, _, _ := strings.Cut(strings.TrimSpace(d.stderr), "\n")
	const shown = 200
	switch {
	case d.killReason == reasonProtocol:
		return "it was killed, because it sent what it was not asked, or too much"
	case line == "":
		return d.status
	}
	return engines.Truncate(line, shown)
}
