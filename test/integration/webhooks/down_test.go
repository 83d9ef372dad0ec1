package webhooks

import (
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// TestServerThatIsDown shows that a server which was down for a while is called again soon after it is back, though
// nothing tells so.
func TestServerThatIsDown(t *testing.T) {
	e := env.NewRunning(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	env.NoError(t, err)
	address := listener.Addr().String()
	env.NoError(t, listener.Close())
	name := define(e, "down", webhook("http://"+address), "")
	applyThing(e, "down", "a")
	e.WaitForEvent("a", "SyncError", "HookFailed", "sync hook")
	// From 100 ms on each failure doubles the time until the next try.
	const failures, backoff = 7, 7 * time.Second
	cluster.Eventually(t, 2*env.Timeout, func() error {
		if got := e.Reconciles(name, "error"); got < failures {
			return fmt.Errorf("%v passes have failed, want %v", got, failures)
		}
		return nil
	})
	start := time.Now()
	if listener, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: env.Timeout, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"children": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"value": "back"}}]}`)
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	waitForValue(e, "a", "back")
	if took := time.Since(start); took > 2*backoff {
		t.Errorf("the server was back, and called only %s later", took)
	}
}
