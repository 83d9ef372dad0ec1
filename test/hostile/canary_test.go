//go:build linux

package hostile

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

const (
	fileSecret     = "the secret of the file"
	variableSecret = "the secret of the environment"
	variableName   = "LIBRETTO_CANARY"
)

// canary is what the host has and no script may get at: a file, an environment
// variable, sockets that notice who talks to them, and its process.
type canary struct {
	file, tcp, udp string
	host           int
	touched        *atomic.Int64
}

// newCanary makes one that ends with the test.
func newCanary(t *testing.T) canary {
	t.Helper()
	c := canary{file: os.Getenv(canaryVariable), host: os.Getpid(), touched: &atomic.Int64{}}
	if c.file == "" {
		c.file = filepath.Join(t.TempDir(), "canary")
		if err := os.WriteFile(c.file, []byte(fileSecret), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(c.file); err != nil || string(text) != fileSecret {
		t.Fatalf("the host itself reads %q, error %v", text, err)
	}
	t.Setenv(variableName, variableSecret)
	c.listen(t)
	return c
}

// listen opens the sockets.
func (c *canary) listen(t *testing.T) {
	t.Helper()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		tcp.Close()
		udp.Close()
	})
	c.tcp, c.udp = tcp.Addr().String(), udp.LocalAddr().String()
	go func() {
		for {
			connection, err := tcp.Accept()
			if err != nil {
				return
			}
			connection.Close()
			c.touched.Add(1)
		}
	}()
	go func() {
		for {
			if _, _, err := udp.ReadFrom(make([]byte, 10)); err != nil {
				return
			}
			c.touched.Add(1)
		}
	}()
}

// fill puts the places into a script.
func (c canary) fill(script string) string {
	return strings.NewReplacer("CANARY_FILE", c.file, "CANARY_ADDRESS", c.tcp, "CANARY_VARIABLE", variableName).Replace(script)
}

// leaked is which secret a text has, or "".
func leaked(text string) string {
	for _, secret := range []string{fileSecret, variableSecret, "root:x:0"} {
		if strings.Contains(text, secret) {
			return secret
		}
	}
	return ""
}
