package cluster

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"
)

// kubeconfigVariable names the kubeconfig of a control plane to use instead of a new one: `make up` in one terminal
// saves the start in the other.
const kubeconfigVariable = "LIBRETTO_TEST_KUBECONFIG"

// startTimeout leaves room for a busy machine; a start takes three seconds on an idle one.
const startTimeout = 3 * time.Minute

// shared is the control plane of the test package, set by Main for as long as the tests run.
var shared *Cluster

// Main runs the tests of a package with one control plane for all, and returns the exit code. It is all that a
// package's TestMain needs.
func Main(m *testing.M) int {
	return run(m, open)
}

// MainWith is Main with a control plane of the package's own, which is started with options.
func MainWith(m *testing.M, options Options) int {
	return run(m, func() (*Cluster, error) { return startInTime(options) })
}

func run(m *testing.M, open func() (*Cluster, error)) int {
	c, err := open()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	shared = c
	code := m.Run()
	shared = nil
	if err := c.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func open() (*Cluster, error) {
	if path := os.Getenv(kubeconfigVariable); path != "" {
		return Attach(path)
	}
	return startInTime(Options{})
}

func startInTime(options Options) (*Cluster, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return Start(ctx, options)
}

// Get is the control plane of the test package.
func Get(t testing.TB) *Cluster {
	t.Helper()
	if shared == nil {
		t.Fatal("no control plane: the package needs func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }")
	}
	return shared
}
