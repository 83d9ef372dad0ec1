package webhook

import (
	"bufio"
	"bytes"
	"compress/gzip"
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

// Whatever a server does, a call ends by its deadline with an error that explains what was wrong.
func TestBadServers(t *testing.T) {
	cases := map[string]struct {
		reason  string
		serve   func(net.Conn)
		kind    engines.Kind
		message string
	}{
		"silent":                {"accepts and says nothing", hang(""), engines.Timeout, "deadline"},
		"slow header":           {"begins to answer", hang("HTTP/1.1 200 OK\r\n"), engines.Timeout, "deadline"},
		"slow body":             {"begins a body", hang("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"), engines.Timeout, "deadline"},
		"dribbles":              {"a byte at a time, and no end", repeat("HTTP/1.1 200 OK\r\n\r\n{", " ", soon/20), engines.Timeout, "deadline"},
		"dribbles header":       {"a byte at a time, and no end", repeat("HTTP/1.1 200 OK\r\nX-Long: ", "x", soon/20), engines.Timeout, "deadline"},
		"endless header":        {"more than may be", repeat("HTTP/1.1 200 OK\r\n", "X-Header: "+strings.Repeat("x", 64<<10)+"\r\n", 0), engines.Failed, "exceeded"},
		"endless hints":         {"never the answer itself", repeat("", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", 0), engines.Failed, "headers exceeded"},
		"zipped":                {"small on the way, and more than may be", zipped(1 << 20), engines.Exhausted, "larger than 2000 bytes"},
		"zipped badly":          {"says gzip and is not", say("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 24\r\n\r\n{                      }"), engines.BadResponse, "gzip"},
		"two lengths":           {"one of them must be wrong", say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 7\r\n\r\n{\"a\":1}"), engines.Failed, "Content-Length"},
		"redirects to nowhere":  {"a redirect without a place", say("HTTP/1.1 308 Permanent Redirect\r\nContent-Length: 0\r\n\r\n"), engines.Failed, "answered 308"},
		"switches":              {"to another protocol", say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"), engines.Failed, "101"},
		"reset at once":         {"before it answers", func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) }, engines.Failed, "connection reset"},
		"endless body":          {"more than may be", repeat("HTTP/1.1 200 OK\r\n\r\n", strings.Repeat(" ", 4096), 0), engines.Exhausted, "larger than 2000 bytes"},
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
		"error with endless body": {"only its beginning is reported", repeat("HTTP/1.1 500 Oh\r\n\r\n", strings.Repeat("x", 4096), 0), engines.Failed, "answered 500 Oh: xxx"},
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

// raw serves connections, after their request, and returns the address.
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
				if request, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					_, _ = io.Copy(io.Discard, request.Body)
				}
				serve(c)
			}()
		}
	}()
	return listener.Addr().String()
}

func say(text string) func(net.Conn) { return func(c net.Conn) { fmt.Fprint(c, text) } }

// hang writes something and waits until the client closes the connection.
func hang(text string) func(net.Conn) {
	return func(c net.Conn) {
		fmt.Fprint(c, text)
		_, _ = io.Copy(io.Discard, c)
	}
}

// repeat writes one text, and then another one again and again with a pause until the client closes the connection.
func repeat(once, again string, pause time.Duration) func(net.Conn) {
	return func(c net.Conn) {
		fmt.Fprint(c, once)
		ticker := time.NewTicker(max(pause, time.Nanosecond))
		defer ticker.Stop()
		for {
			if _, err := fmt.Fprint(c, again); err != nil {
				return
			}
			if pause > 0 {
				<-ticker.C
			}
		}
	}
}

// zipped answers with so many spaces, compressed.
func zipped(size int) func(net.Conn) {
	var body bytes.Buffer
	w := gzip.NewWriter(&body)
	_, _ = w.Write(bytes.Repeat([]byte(" "), size))
	_ = w.Close()
	return say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", body.Len(), body.String()))
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
