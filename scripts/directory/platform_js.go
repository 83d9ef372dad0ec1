package directory

import "time"

// A browser has no pipes, and its files are in memory: there are no events, and reading them costs little.
const (
	nonBlocking  = 0
	pollInterval = 300 * time.Millisecond
	hasEvents    = false
)
