package protocol

import (
	"testing"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// TestBusyWorker checks that a worker can't claim that the host is busy, for which nothing is charged.
func TestBusyWorker(t *testing.T) {
	e := wire.NewEncoder(nil)
	appendError(e, &engines.Error{Kind: engines.Busy, Message: "busy"})
	got, err := readError(wire.NewDecoder(e.Bytes()))
	if err != nil || got.Kind != engines.Failed || got.Message != "busy" {
		t.Errorf("%#v, error %v, want one of kind Failed", got, err)
	}
}
