package rights

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// TestBase runs a host with the account and the rights of manifests/base. With what libretto rbac prints it runs an example; without it may
// do nothing that it does not need itself; and a ClusterRole with the label adds to its rights.
func TestBase(t *testing.T) {
	e := env.NewWithThings(t)
	root, err := cluster.Root()
	e.NoError(err)
	base, hello := filepath.Join(root, "manifests", "base"), filepath.Join(root, "examples", "hello")
	e.Kubectl("create", "namespace", "libretto")
	host := e.InNamespace("libretto").NewUser("libretto")
	e.Kubectl("apply", "--server-side", "--force-conflicts", "-k", base)
	e.Eventually(func() error { return may(host, env.CompositeControllers) })
	for _, verb := range []string{"list", "create"} {
		if host.Can(verb, e.Things()) || host.Can(verb, env.Secrets) {
			t.Errorf("the host may %s Things or Secrets", verb)
		}
	}
	role := filepath.Join(t.TempDir(), "role.yaml")
	e.NoError(os.WriteFile(role, []byte(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: libretto-things, labels: {libretto.dev/aggregate-to-host: "true"}}
rules:
- {apiGroups: [`+e.Group+`], resources: [things], verbs: [list]}
`), 0o600))
	e.Kubectl("apply", "-f", role)
	e.Eventually(func() error { return may(host, e.Things()) })

	binary, err := cluster.Binary("libretto")
	e.NoError(err)
	roles, err := exec.CommandContext(t.Context(), binary, "rbac", "-f", hello).Output()
	e.NoError(err)
	e.NoError(os.WriteFile(role, roles, 0o600))
	e.Kubectl("apply", "-f", role)
	e.Start("--kubeconfig", host.Kubeconfig(), "--namespace=libretto", "--leader-elect", "--leader-elect-resource-namespace=libretto")
	t.Cleanup(func() {
		if _, err := e.Cluster.Kubectl(context.Background(), "delete", "--ignore-not-found", "-f", filepath.Join(hello, "hello.yaml")); err != nil {
			t.Error(err)
		}
	})
	e.Kubectl("apply", "-f", filepath.Join(hello, "hello.yaml"))
	e.Kubectl("apply", "-f", filepath.Join(hello, "greeting.yaml"))
	e.InNamespace("default").WaitFor(env.ConfigMaps, "world-greeting", env.HasText("Hello, world!"))
	e.WaitForCondition("hello", "Ready", "True")
}

// may returns an error until the API server lets a user list a resource.
func may(user *env.User, resource schema.GroupVersionResource) error {
	if !user.Can("list", resource) {
		return fmt.Errorf("%s may not list %s", user.Name, resource.Resource)
	}
	return nil
}
