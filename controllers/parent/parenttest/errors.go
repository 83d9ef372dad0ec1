package parenttest

import (
	"time"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
)

// Thrown returns the error of a sync hook that threw at a line.
func Thrown(line int, message string) error {
	return variant.HookError("sync", &engines.Error{Location: engines.Location{File: "sync.js", Line: line, Column: 7}, Message: message})
}

// BusyHost is the error of a sync for which the host had no worker.
var BusyHost = variant.HookError("sync", &engines.Error{Kind: engines.Busy, Message: "no script worker was free", RetryAfter: time.Second})
