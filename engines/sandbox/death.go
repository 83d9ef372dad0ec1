package sandbox

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
)

// Why a worker ended, for figures and logs.
const (
	becauseDeadline = "deadline"
	becauseCanceled = "canceled"
	becauseMemory   = "memory"
	becauseStack    = "stack"
	becauseCrash    = "crash"
	becauseProtocol = "protocol"
	becauseClosed   = "closed"
	becauseOld      = "age"
	becauseLarge    = "resident"
	becauseStuck    = "start"
)

// death is how a worker process ended.
type death struct {
	// by is why the host ended it, or "" if it did not.
	by string
	// status is how the system puts it, such as "exit status 2".
	status string
	// stderr is the beginning of what it wrote there.
	stderr string
}

// reason is why it ended, by the first lines of what the Go runtime said at last.
func (d death) reason() string {
	switch {
	case d.by != "":
		return d.by
	case strings.Contains(d.stderr, "stack exceeds"), strings.Contains(d.stderr, "fatal error: stack overflow"):
		return becauseStack
	case strings.Contains(d.stderr, "out of memory"), strings.Contains(d.stderr, "cannot allocate memory"),
		strings.Contains(d.stderr, "failed to create new OS thread"), strings.Contains(d.stderr, "pthread_create failed"), strings.HasPrefix(d.stderr, "SIGSEGV: "):
		// The runtime does not check every allocation of its own. A fault in Go code would be a panic.
		return becauseMemory
	default:
		return becauseCrash
	}
}

// err is what the death means to the question that was being answered, which had
// that much time and memory.
func (d death) err(took time.Duration, memory int64) *engines.Error {
	switch d.reason() {
	case becauseDeadline:
		return &engines.Error{Kind: engines.Timeout, Err: context.DeadlineExceeded, Message: fmt.Sprintf(
			"did not answer within %v, and could not be interrupted: its worker was killed", took.Round(time.Millisecond))}
	case becauseCanceled:
		return &engines.Error{Kind: engines.Failed, Err: context.Canceled, Message: "the call was canceled"}
	case becauseMemory:
		return &engines.Error{Kind: engines.Exhausted, Message: protocol.OverMemory(memory)}
	case becauseStack:
		return &engines.Error{Kind: engines.Exhausted, Message: "the script, or a value of it, is nested too deep: the stack limit of 64Mi is reached"}
	case becauseClosed:
		return &engines.Error{Kind: engines.Failed, Message: errClosed.Error(), Err: errClosed}
	default:
		return &engines.Error{Kind: engines.Failed, Message: "script worker crashed: " + d.brief()}
	}
}

// outcome is what the death says about the program that was running.
func (d death) outcome() outcome {
	switch d.by {
	case becauseCanceled, becauseClosed:
		return untold
	default:
		return fatal
	}
}

// brief is the first line of what it wrote, or how it ended.
func (d death) brief() string {
	line, _, _ := strings.Cut(strings.TrimSpace(d.stderr), "\n")
	const shown = 200
	if line == "" {
		return d.status
	}
	return strings.ToValidUTF8(line[:min(len(line), shown)], "")
}
