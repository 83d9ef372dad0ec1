package webhook

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines"
)

// discard is where servers of tests complain about their clients.
var discard = log.New(io.Discard, "", 0)

// soon is a deadline that is over soon, and never a reason for a good call to fail.
const soon = 200 * time.Millisecond

// Whatever a server does, a call ends by its deadline with an error that says what was wrong.
func TestBadServers(t *testing.T) {
	cases := map[string]struct {
		reason  string
		serve   func(net.Conn)
		kind    engines.Kind
		message string
	}{
		"silent":      {"accepts and says nothing", hang(""), engines.Timeout, "deadline"},
		"slow header": {"begins to answer", hang("HTTP/1.1 200 OK\r\n"), engines.Timeout, "deadline"},
		"slow body":   {"begins a body", hang("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"), engines.Timeout, "deadline"},
		"endless body": {"more than may be", func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\n\r\n")
			for chunk := strings.Repeat(" ", 4096); ; {
				if _, err := fmt.Fprint(c, chunk); err != nil {
					return
				}
			}
		}, engines.Exhausted, "larger than 2000 bytes"},
		"too long, and says so": {"not even read", say("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n{}"), engines.Exhausted, "larger than 2000 bytes"},
		"half a body":           {"ends before its end", say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"a\":1}"), engines.BadResponse, "ended after 7 bytes"},
		"half a chunk":          {"ends before its end", say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a"), engines.BadResponse, "ended after 3 bytes"},
		"length too small":      {"what comes after it is not read", say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{\"a\":1}"), engines.BadResponse, "breaks off after 5 bytes"},
		"length is no number":   {"no HTTP", say("HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n{}"), engines.Failed, "many"},
		"html":                  {"a proxy's page", say("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<html></html>"), engines.BadResponse, "looks like HTML"},
		"no HTTP":               {"another protocol", say("SSH-2.0-OpenSSH_9.6\r\n"), engines.Failed, "malformed HTTP"},
		"hangs up":              {"at once", say(""), engines.Failed, "EOF"},
		"reset": {"in the middle of the answer", func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
			_ = c.(*net.TCPConn).SetLinger(0)
		}, engines.BadResponse, "ended after"},
		"error with endless body": {"only its beginning is told", func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 500 Oh\r\n\r\n")
			for chunk := strings.Repeat("x", 4096); ; {
				if _, err := fmt.Fprint(c, chunk); err != nil {
					return
				}
			}
		}, engines.Failed, "answered 500 Oh: xxx"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			program := compile(t, engines.Source{Endpoint: &engines.Endpoint{URL: "http://" + raw(t, c.serve), MaxResponseBytes: 2000}})
			deadline := 20 * time.Second
			if c.kind == engines.Timeout {
				deadline = soon
			}
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			_, err := program.Run(ctx, engines.Call{Request: map[string]any{}})
			compareFailure(t, asError(t, err), c.kind, c.message, 0)
		})
	}
}

// raw serves connections, after their request, and gives the address.
func raw(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = c.Read(make([]byte, 64<<10))
				serve(c)
			}()
		}
	}()
	return listener.Addr().String()
}

func say(text string) func(net.Conn) { return func(c net.Conn) { fmt.Fprint(c, text) } }

// hang says something and waits for the other side to give up.
func hang(text string) func(net.Conn) {
	return func(c net.Conn) {
		fmt.Fprint(c, text)
		_, _ = io.Copy(io.Discard, c)
	}
}

// A server that restarts between two calls, and so closes the connection that the
// second one would use, is no reason for it to fail.
func TestConnectionGivenUp(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }))
	defer server.Close()
	program := compile(t, endpoint(server.URL))
	for range 20 {
		if _, failure := call(t, program, engines.Call{Request: map[string]any{"a": "b"}}); failure != nil {
			t.Fatal(failure)
		}
		server.CloseClientConnections()
	}
}
