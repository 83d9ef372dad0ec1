package sandbox_test

import (
	"net"
	"os"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox"
)

func probed(t *testing.T, pool *sandbox.Pool, what string) engines.Program {
	t.Helper()
	program, err := engineOf(t, pool, "Probe").Compile(t.Context(), engines.Source{
		Hook: "sync", Script: &engines.Script{Files: map[string]string{"a.probe": what}, Path: "a.probe"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// TestConfined has code in a worker try forbidden operations.
func TestConfined(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	cases := map[string]struct {
		reason string
		target any
	}{
		"read file":   {"no access to files", ""},
		"read memory": {"no access to the host's memory", int64(os.Getpid())},
		"write file":  {"no writes to files", ""},
		"run program": {"no new processes", ""},
		"connect":     {"no TCP", tcp.Addr().String()},
		"send":        {"no UDP", udp.LocalAddr().String()},
		"signal host": {"no signals to other processes", int64(os.Getpid())},
	}
	confined := newPool(t, sandbox.Config{})
	open := newPool(t, sandbox.Config{WithoutSeccomp: true})
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			_, err := probed(t, confined, name).Run(t.Context(), request(c.target))
			if err == nil || !strings.Contains(err.Error(), "not permitted") && !strings.Contains(err.Error(), "denied") {
				t.Errorf("error %v, want one that says that it is not permitted", err)
			}
			_, err = probed(t, open, name).Run(t.Context(), request(c.target))
			t.Logf("without seccomp: %v", err)
		})
	}
}

// TestSurroundings checks what a worker finds around it: nothing of the host's environment, in which there may be secrets.
func TestSurroundings(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=secret")
	pool := newPool(t, sandbox.Config{})
	for name, want := range map[string]string{"environment": "GOGC=400", "time zone": "Europe/Paris UTC"} {
		response, err := probed(t, pool, name).Run(t.Context(), request(nil))
		if err != nil || response.Body != want {
			t.Errorf("%s: %q, error %v, want %q", name, response.Body, err, want)
		}
	}
}
