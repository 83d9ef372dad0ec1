package scripts_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// The roles of manifests/rbac are enough for a host that has nothing else but rights on parents, and the one for scripts is
// bound in no namespace but theirs.
func TestNarrowHost(t *testing.T) {
	t.Parallel()
	e := env.NewWithThings(t)
	root, err := cluster.Root()
	must(t, err)
	for _, role := range []string{"host", "scripts"} {
		must(t, e.Cluster.ApplyFiles(t.Context(), filepath.Join(root, "manifests", "rbac", role+".yaml")))
	}
	user := "host-of-" + e.Namespace
	e.Apply(fmt.Sprintf(`
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
`, user, e.Group))
	start(e, "--kubeconfig="+e.KubeconfigAs(user))
	applyFiles(e, "hooks", "sync.js", scriptSaying("one"))
	name := define(e, "", source(e, "hooks"))
	e.WaitForCondition(name, "ScriptsReady", "False", "ScriptSourceUnreadable", `configmaps "hooks" is forbidden: User "`+user+`" cannot`)
	e.ApplyThing("a", "", "")
	e.Apply(fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: libretto-scripts}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: libretto-scripts}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %s}]
`, user))
	waitForSaid(e, "a", "one")
	waitUntilArchived(e, name)
	applyFiles(e, "hooks", "sync.js", broken)
	e.WaitForEvent("hooks", "ScriptInvalid", "sync.js:2:10: ")
	e.Restart()
	e.ApplyThing("b", "", "")
	waitForSaid(e, "b", "one")
}
