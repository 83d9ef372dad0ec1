package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
)

// silentCluster returns the kubeconfig of an API server that accepts connections, and never answers.
func silentCluster(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			defer connection.Close()
		}
	}()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a}}],
clusters: [{name: a, cluster: {server: "http://%s"}}]}`, listener.Addr())
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestTimeout runs each command that reads a cluster on one that hangs.
func TestTimeout(t *testing.T) {
	t.Parallel()
	kubeconfig := silentCluster(t)
	hooks := filepath.Join(t.TempDir(), "hooks.yaml")
	if err := os.WriteFile(hooks, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hooks}\ndata: {sync.js: \"\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"diff -f " + hooks, "explain webapp/shop", "capture webapp/shop", "rollout status hello", "rollout approve hello", "rollout pause hello",
		"rollout resume hello", "rollout promote hello", "rollout abort hello", "rollback hello", "history hello", "history hello 1 2",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := program.Run(t, "", append(strings.Fields(line), "--kubeconfig", kubeconfig, "--timeout", "300ms")...)
			if code != cli.ExitCannot || stdout != "" || !strings.Contains(stderr, "it took longer than --timeout 300ms") {
				t.Errorf("exit code %d, want %d: %s%s", code, cli.ExitCannot, stdout, stderr)
			}
		})
	}
}
