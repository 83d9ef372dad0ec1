package hosting

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

var clusterRoles = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}

// TestVersion asks a leader for its version, as somebody who may list all leases, as a viewer of its namespace, and as nobody. When another
// one holds the lease, the host's labels say nothing of it.
func TestVersion(t *testing.T) {
	e := env.New(t)
	t.Cleanup(func() { e.Delete(clusterRoles, "", "aggregate-libretto-view") })
	e.Kubectl("apply", "--server-side", "--force-conflicts", "-f", filepath.Join("..", "..", "..", "manifests", "host", "view.yaml"))
	admin, viewer, stranger := e.NewUser("admin"), e.NewUser("viewer"), e.NewUser("stranger")
	admin.Bind("", "cluster-admin")
	viewer.Bind(e.Namespace, "view")
	host := newCandidate(e, "first")
	for name, c := range map[string]struct {
		user *env.User
		want int
	}{"an admin": {admin, 1}, "a viewer": {viewer, 1}, "a stranger": {stranger, 0}} {
		t.Run(name, func(t *testing.T) {
			cluster.Eventually(t, leaseTimeout, func() error {
				if hosts := versions(t, e, c.user); len(hosts) != c.want || c.want > 0 && hosts[0] != "none" {
					return fmt.Errorf("hosts %q, want %d of the same version", hosts, c.want)
				}
				return nil
			})
		})
	}
	e.NoError(host.Kill())
	e.Patch(leases, "metacontroller", `{"spec": {"holderIdentity": "another"}}`)
	if hosts := versions(t, e, admin); len(hosts) > 0 {
		t.Errorf("hosts %q, and the lease is that of another program", hosts)
	}
}

// versions returns how far the hosts in the namespace differ from bin/libretto, by its own words.
func versions(t *testing.T, e *env.Env, user *env.User) []string {
	t.Helper()
	program, err := cluster.Binary("libretto")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), env.Timeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, "version", "-o", "json", "--kubeconfig", user.Kubeconfig(), "--host-namespace", e.Namespace,
		"--timeout", "30s").Output()
	if err != nil {
		t.Fatal(err)
	}
	var said struct {
		Hosts []struct{ Namespace, Skew string } `json:"hosts"`
	}
	if err := json.Unmarshal(out, &said); err != nil {
		t.Fatal(err)
	}
	var skews []string
	for _, h := range said.Hosts {
		if h.Namespace == e.Namespace {
			skews = append(skews, h.Skew)
		}
	}
	return skews
}
