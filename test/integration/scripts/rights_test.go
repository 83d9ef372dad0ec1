package scripts_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// The roles of manifests/rbac are enough for a host that has nothing else but rights on parents, and the one for scripts is
// bound in no namespace but theirs.
func TestNarrowHost(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	root, err := cluster.Root()
	must(t, err)
	for _, role := range []string{"host", "scripts"} {
		must(t, h.Cluster.ApplyFiles(t.Context(), filepath.Join(root, "manifests", "rbac", role+".yaml")))
	}
	user := "host-of-" + h.Namespace
	h.Apply(fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s}
rules:
- {apiGroups: [%[2]s], resources: [things], verbs: [get, list, watch]}
- {apiGroups: [%[2]s], resources: [things/status], verbs: [update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[1]s}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s-host}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: libretto-host}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[1]s}]
`, user, h.Group))
	h.flags = append(h.flags, "--kubeconfig="+h.as(user))
	h.begin()
	h.configMap("hooks", "sync.js", saying("one"))
	name := h.define("", h.from("hooks"))
	h.WaitForCondition(name, "ScriptsReady", "False", "ScriptSourceUnreadable", `configmaps "hooks" is forbidden: User "`+user+`" cannot`)
	h.thing("a")
	h.Apply(fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: libretto-scripts}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: libretto-scripts}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %s}]
`, user))
	h.says("a", "one")
	h.keeps(name)
	h.configMap("hooks", "sync.js", broken)
	h.WaitForEvent("hooks", "ScriptInvalid", "sync.js:2:10: ")
	h.Restart()
	h.thing("b")
	h.says("b", "one")
}

// as gives a kubeconfig that acts as user.
func (h *host) as(user string) string {
	h.T.Helper()
	config, err := clientcmd.LoadFromFile(h.Cluster.Kubeconfig)
	must(h.T, err)
	for _, info := range config.AuthInfos {
		info.Impersonate = user
	}
	path := filepath.Join(h.T.TempDir(), "kubeconfig")
	must(h.T, clientcmd.WriteToFile(*config, path))
	return path
}
