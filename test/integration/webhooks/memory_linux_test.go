package webhooks

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/test/env"
)

// TestAnswerOfSmallValues has a server answer 8 MiB that would take 400 MiB of memory, about several parents at once.
func TestAnswerOfSmallValues(t *testing.T) {
	const parents, most = 5, 256 << 20 // bytes of memory
	e := env.NewRunning(t)
	answer := `{"children": [], "status": {"values": [` + strings.Repeat(`{"":0},`, 1_150_000) + `0]}}`
	server := serve(t, nil)
	server.says(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) })
	define(e, "small-values", webhook(server.URL), "")
	for i := range parents {
		applyThing(e, "small-values", fmt.Sprintf("thing-%d", i))
	}
	for i := range parents {
		e.WaitForEvent(fmt.Sprintf("thing-%d", i), "SyncError", "HookLimitExceeded: sync hook: "+server.URL,
			"would take more than 96 MiB of memory", "return less")
	}
	peak, err := e.Libretto().PeakMemory()
	e.NoError(err)
	t.Logf("the host had at most %d MiB resident", peak>>20)
	if peak > most {
		t.Errorf("the host had %d MiB resident, want at most %d", peak>>20, most>>20)
	}
}
