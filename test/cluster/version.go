package cluster

import (
	"strconv"
	"testing"
)

// Before reports whether the API server is older than Kubernetes 1.minor. What a test then leaves out is in docs/reference/kubernetes.md.
func (c *Cluster) Before(t testing.TB, minor int) bool {
	t.Helper()
	info, err := c.rest.ServerVersion()
	if err != nil {
		t.Fatalf("version of the API server: %v", err)
	}
	served, err := strconv.Atoi(info.Minor)
	if err != nil {
		t.Fatalf("version of the API server: %s: %v", info, err)
	}
	return served < minor
}

// SkipBefore skips the test if the API server is older than Kubernetes 1.minor, and says why.
func (c *Cluster) SkipBefore(t testing.TB, minor int, reason string) {
	t.Helper()
	if c.Before(t, minor) {
		t.Skipf("%s from Kubernetes 1.%d on", reason, minor)
	}
}
