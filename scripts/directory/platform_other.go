//go:build !js

package directory

import (
	"syscall"
	"time"
)

const (
	// nonBlocking has opening a pipe not wait.
	nonBlocking = syscall.O_NONBLOCK
	// pollInterval is how often a directory is read without an event: network file systems
	// have no events, nor has the target of a link to a file.
	pollInterval = 10 * time.Second
	// hasEvents reports whether changes are noticed at once on local file systems.
	hasEvents = true
)
