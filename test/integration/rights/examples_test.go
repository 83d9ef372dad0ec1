package rights

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/runtime/access"
	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// exampleCase is an example, and what is done with it.
type exampleCase struct {
	example string
	// file is the only one of an example without a kustomization, try the one with the objects to try, and with one that is applied before.
	file, try, with string
	// less takes the rights away one by one. answered are those that hooks decide about, besides the rights to read related objects, so that
	// they are missed once they are used and not before.
	less     bool
	answered []string
	// prepare and act are called before the host is started, and once all parents are synced.
	prepare, act func(*exampleRun)
	// limit is how long each state may take, if not env.Timeout.
	limit time.Duration
}

// TestExamples runs all examples under exactly what libretto rbac --from-tests prints for them, each definition as an account of its own, by
// a host that has exactly what libretto rbac --host prints, in namespaces that enforce the Pod Security Standard restricted. Each rule with
// which something is written is used. Where it is cheap, each right less is missed. The example tenants has roles of its own, and a test of its own.
func TestExamples(t *testing.T) {
	for _, tc := range []exampleCase{
		{example: "hello", file: "hello.yaml", try: "greeting.yaml", less: true},
		{example: "decorator", try: "statefulset.yaml", less: true, answered: []string{"patch statefulsets.apps"}},
		{example: "map", file: "map.yaml", try: "catalog.yaml", less: true},
		{example: "indexedjob", try: "indexedjob.yaml", less: true},
		{example: "bluegreen", try: "bluegreen.yaml", less: true},
		{example: "secretpropagation", try: "secretpropagation.yaml", prepare: func(r *exampleRun) {
			r.Apply("{apiVersion: v1, kind: Namespace, metadata: {name: shared-secrets}}")
		}},
		{example: "previews", try: "previews.yaml"},
		{example: "webapp", try: "webapp.yaml", less: true},
		{example: "catset", try: "catset.yaml", less: true, act: rollsWithoutRights},
		{example: "fallback", try: "fallback.yaml", less: true},
		{example: "migration", try: "migration.yaml", less: true},
		{example: "ttl", try: "ttl.yaml", less: true, act: func(r *exampleRun) {
			r.Kubectl("patch", "cleanups.ctl.example.com", "generated", "--type=merge", "-p", `{"spec": {"ttlSeconds": 1}}`)
		}},
		{example: "snapshotschedule", try: "snapshotschedule.yaml", with: "testdata/volumesnapshots.yaml", less: true},
		// The Job and the order are those of its end.
		{example: "teardown", try: "teardown.yaml", less: true, act: deletes("messagequeues.ctl.example.com", "default", "mail")},
		// The namespaces of its attachments are known once its hooks have answered.
		{example: "namespacedefaults", try: "namespace.yaml", prepare: mayBindEdit, act: func(r *exampleRun) {
			r.Kubectl("label", "namespace", "team-a", "ctl.example.com/size-")
			r.ClusterScope().WaitFor(env.Namespaces, "team-a", env.HasFinalizer(v1alpha1.FinalizerOf(env.Decorator, "namespacedefaults"), false))
		}},
		{example: "vitess", try: "cluster.yaml", limit: 3 * time.Minute, act: deletes("vitessclusters.vitess.libretto.dev", "demo", "example")},
	} {
		t.Run(tc.example, func(t *testing.T) {
			r := &exampleRun{Env: env.NewWithThings(t), exampleCase: tc, folder: t.TempDir()}
			if r.limit == 0 {
				r.limit = env.Timeout
			}
			r.copy()
			definition := r.apply()
			host := r.NewUser("host")
			impersonatesBefore(r.Env, host)
			if r.prepare != nil {
				r.prepare(r)
			}
			r.restrict()
			r.Start("--kubeconfig", host.Kubeconfig(), "--namespace", r.Namespace)
			mark := r.Mark()
			r.Kubectl("apply", "-f", definition)
			r.Kubectl("apply", "-f", filepath.Join(r.folder, tc.try))
			for _, d := range r.definitions {
				r.WaitForConditionOf(d.kind, d.name, "Authorized", "True", "may do what is known to be needed")
				r.WaitForConditionOf(d.kind, d.name, "Ready", "True")
				r.eventually(func() error { return r.synced(d) })
				if tc.less {
					r.takeAway(d)
				}
			}
			if tc.act != nil {
				tc.act(r)
			}
			for _, d := range r.definitions {
				r.checkUsed(mark, d)
			}
			r.checkAdmitted()
			r.checkListed()
		})
	}
}

// deletes returns an act that waits until a parent is Ready, deletes it and waits until it is gone.
func deletes(resource, namespace, name string) func(*exampleRun) {
	return func(r *exampleRun) {
		limit := fmt.Sprintf("--timeout=%ds", int(r.limit.Seconds()))
		r.Kubectl("wait", "--for=condition=Ready", limit, "-n", namespace, resource+"/"+name)
		r.Kubectl("delete", limit, "-n", namespace, resource, name)
	}
}

// mayBindEdit gives the account what the README of namespacedefaults says: whoever makes a RoleBinding needs the right to bind the role.
func mayBindEdit(r *exampleRun) {
	const name = "namespacedefaults-owners"
	r.Kubectl("create", "clusterrole", name, "--verb=bind", "--resource=clusterroles.rbac.authorization.k8s.io", "--resource-name=edit")
	r.Kubectl("create", "clusterrolebinding", name, "--clusterrole="+name, "--serviceaccount="+r.Namespace+":"+r.definitions[0].account())
	r.T.Cleanup(func() {
		if _, err := r.Cluster.Kubectl(context.Background(), "delete", "clusterrole/"+name, "clusterrolebinding/"+name); err != nil {
			r.T.Error(err)
		}
	})
}

// exampleRun is an example that runs.
type exampleRun struct {
	*env.Env
	exampleCase
	// folder has a copy of the example, in which each definition names an account.
	folder      string
	definitions []*exampleDefinition
}

// exampleDefinition is a definition of an example, and its Roles and ClusterRoles.
type exampleDefinition struct {
	kind, name string
	related    []any
	roles      []*unstructured.Unstructured
}

// isRelated reports whether hooks may ask for objects of a resource, which are not parents or children in any example.
func (d *exampleDefinition) isRelated(resource schema.GroupResource) bool {
	return slices.ContainsFunc(d.related, func(declared any) bool {
		rule := declared.(map[string]any)
		gv, err := schema.ParseGroupVersion(rule["apiVersion"].(string))
		return err == nil && gv.WithResource(rule["resource"].(string)).GroupResource() == resource
	})
}

// account returns the name of the definition's account.
func (d *exampleDefinition) account() string { return "account-" + d.name }

// isDefinition reports whether a document of YAML is one.
func isDefinition(document string) bool {
	ofKind := func(kind string) bool { return strings.Contains(document, "\nkind: "+kind+"\n") }
	return strings.Contains(document, "apiVersion: "+v1alpha1.GroupVersion.String()+"\n") &&
		slices.ContainsFunc([]string{env.Composite, env.Decorator, env.Map}, ofKind)
}

// copy copies the example, and has its definitions name accounts.
func (r *exampleRun) copy() {
	root, err := cluster.Root()
	r.NoError(err)
	r.NoError(os.CopyFS(r.folder, os.DirFS(filepath.Join(root, "examples", r.example))))
	r.NoError(filepath.WalkDir(r.folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		documents := strings.Split(string(text), "\n---\n")
		for i, document := range documents {
			if !isDefinition(document) {
				continue
			}
			var definition unstructured.Unstructured
			r.NoError(yaml.Unmarshal([]byte(document), &definition.Object))
			account := (&exampleDefinition{name: definition.GetName()}).account()
			r.NoError(unstructured.SetNestedStringMap(definition.Object, map[string]string{"namespace": r.Namespace, "name": account},
				"spec", "serviceAccountRef"))
			named, err := yaml.Marshal(definition.Object)
			r.NoError(err)
			documents[i] = string(named)
		}
		return os.WriteFile(path, []byte(strings.Join(documents, "\n---\n")), 0o600)
	}))
}

// apply applies the roles of the example, and all of it but the definitions, of which it returns the file.
func (r *exampleRun) apply() (definition string) {
	r.T.Helper()
	text := ""
	if r.file == "" {
		text = r.Kubectl("kustomize", r.folder)
	} else {
		text = r.read(r.file)
	}
	if r.with != "" {
		text += "\n---\n" + r.read(r.with)
	}
	var definitions, namespaces, others []string
	for document := range strings.SplitSeq(text, "\n---\n") {
		switch {
		case isDefinition(document):
			var object unstructured.Unstructured
			r.NoError(yaml.Unmarshal([]byte(document), &object.Object))
			d := &exampleDefinition{kind: object.GetKind(), name: object.GetName()}
			d.related, _, _ = unstructured.NestedSlice(object.Object, "spec", "relatedResources")
			r.NewUser(d.account())
			r.definitions, definitions = append(r.definitions, d), append(definitions, document)
		case strings.Contains(document, "kind: Namespace\n"): // It stays: its deletion would take long.
			namespaces = append(namespaces, document)
		default:
			others = append(others, document)
		}
	}
	folder := r.T.TempDir()
	write := func(name string, documents []string) string {
		path := filepath.Join(folder, name)
		r.NoError(os.WriteFile(path, []byte(strings.Join(documents, "\n---\n")), 0o600))
		return path
	}
	if len(namespaces) > 0 {
		r.Apply(strings.Join(namespaces, "\n---\n"))
	}
	definition, rest := write("definition.yaml", definitions), write("others.yaml", others)
	if len(others) > 0 {
		r.Kubectl("apply", "-f", rest)
	}
	r.rbac("-f", ".", "--from-tests", "--host-namespace", r.Namespace)
	r.rbac("--host", "--host-namespace", r.Namespace, "--host-service-account", "host")
	r.rbac("-f", definition, "-f", rest, "--host", "--host-namespace", r.Namespace, "--host-service-account", "host")
	r.T.Cleanup(func() {
		if _, err := r.Cluster.Kubectl(context.Background(), "delete", "--ignore-not-found", "--wait=false", "-f", folder); err != nil {
			r.T.Error(err)
		}
	})
	return definition
}

// restrict has all namespaces enforce the Pod Security Standard restricted until the end of the test.
func (r *exampleRun) restrict() {
	r.T.Helper()
	const label = "pod-security.kubernetes.io/enforce"
	r.Kubectl("label", "namespaces", "--all", "--overwrite", label+"=restricted")
	r.T.Cleanup(func() {
		if _, err := r.Cluster.Kubectl(context.Background(), "label", "namespaces", "--all", label+"-"); err != nil {
			r.T.Error(err)
		}
	})
}

// checkAdmitted checks that no Pod was refused, also none of a Deployment or a Job, which say so by an event.
func (r *exampleRun) checkAdmitted() {
	r.T.Helper()
	events := r.Kubectl("get", "events", "--all-namespaces", "-o", "jsonpath={range .items[*]}{.message}{'\\n'}{end}")
	for message := range strings.Lines(events) {
		if strings.Contains(message, "violates PodSecurity") {
			r.T.Errorf("a Pod was refused: %s", message)
		}
	}
}

// checkListed checks that the guide has the example among those that run so.
func (r *exampleRun) checkListed() {
	r.T.Helper()
	root, err := cluster.Root()
	r.NoError(err)
	page, err := os.ReadFile(filepath.Join(root, "docs", "guide", "install.md"))
	r.NoError(err)
	var names []string
	for _, d := range r.definitions {
		names = append(names, d.kind+" "+d.name)
	}
	slices.Sort(names)
	line := fmt.Sprintf("| [%[1]s](../../examples/%[1]s/README.md) | %[2]s |\n", r.example, strings.Join(names, ", "))
	if !strings.Contains(string(page), line) {
		r.T.Errorf("docs/guide/install.md does not have the line\n%s", line)
	}
}

// read returns a file of the example.
func (r *exampleRun) read(name string) string {
	text, err := os.ReadFile(filepath.Join(r.folder, name))
	r.NoError(err)
	return string(text)
}

// rbac applies what libretto rbac prints, and notes the Roles and ClusterRoles of definitions.
func (r *exampleRun) rbac(args ...string) (roles []*unstructured.Unstructured) {
	r.T.Helper()
	binary, err := cluster.Binary("libretto")
	r.NoError(err)
	command := exec.CommandContext(r.T.Context(), binary, append([]string{"rbac", "-o", "json"}, args...)...)
	command.Dir = r.folder
	printed, err := command.Output()
	r.NoError(err)
	file := filepath.Join(r.T.TempDir(), "roles.json")
	r.NoError(os.WriteFile(file, printed, 0o600))
	r.Kubectl("apply", "-f", file)
	r.T.Cleanup(func() {
		if _, err := r.Cluster.Kubectl(context.Background(), "delete", "--ignore-not-found", "-f", file); err != nil {
			r.T.Error(err)
		}
	})
	var list unstructured.UnstructuredList
	r.NoError(json.Unmarshal(printed, &list))
	for i := range list.Items {
		if strings.HasSuffix(list.Items[i].GetKind(), "Role") {
			roles = append(roles, &list.Items[i])
		}
		for _, d := range r.definitions {
			name := "libretto-" + strings.ToLower(strings.TrimSuffix(d.kind, "Controller")) + "-" + d.name
			if list.Items[i].GetName() == name && strings.HasSuffix(list.Items[i].GetKind(), "Role") {
				d.roles = append(d.roles, &list.Items[i])
			}
		}
	}
	return roles
}

// eventually is Env.Eventually with the example's limit.
func (r *exampleRun) eventually(check func() error) {
	r.T.Helper()
	cluster.Eventually(r.T, r.limit, check)
}

// synced returns an error until all parents of a definition are synced.
func (r *exampleRun) synced(d *exampleDefinition) error {
	object, err := r.Cluster.Dynamic().Resource(env.Definitions(d.kind)).Get(r.T.Context(), d.name, metav1.GetOptions{})
	r.NoError(err)
	parents, _, _ := unstructured.NestedInt64(object.Object, "status", "parents")
	if synced, _, _ := unstructured.NestedInt64(object.Object, "status", "syncedParents"); synced == 0 || synced < parents {
		return fmt.Errorf("%d of %d parents are synced: %v", synced, parents, object.Object["status"])
	}
	return nil
}

// rulesOf returns the rules of a role.
func (r *exampleRun) rulesOf(role *unstructured.Unstructured) []rbacv1.PolicyRule {
	text, err := role.MarshalJSON()
	r.NoError(err)
	var decoded rbacv1.ClusterRole
	r.NoError(json.Unmarshal(text, &decoded))
	return decoded.Rules
}

// checkUsed checks that the definition's account has used each of its rules with a right to write.
func (r *exampleRun) checkUsed(mark cluster.Mark, d *exampleDefinition) {
	r.T.Helper()
	account := "system:serviceaccount:" + r.Namespace + ":" + d.account()
	for _, role := range d.roles {
		for _, rule := range r.rulesOf(role) {
			if !slices.Contains(rule.Verbs, "create") && !slices.Contains(rule.Verbs, "update") && !slices.Contains(rule.Verbs, "patch") {
				continue
			}
			r.Eventually(func() error {
				all, err := r.Cluster.Requests(r.T.Context(), mark, env.UserAgent)
				r.NoError(err)
				used := all.Writes().Filter(func(q cluster.Request) bool {
					resource := strings.TrimSuffix(q.Resource+"/"+q.Subresource, "/")
					return q.ImpersonatedUser == account && q.Group == rule.APIGroups[0] && slices.Contains(rule.Resources, resource) &&
						slices.Contains(rule.Verbs, q.Verb) && q.Code < 300
				})
				if len(used) == 0 {
					return fmt.Errorf("nothing was written by the rule %v of %s %s", rule, d.kind, d.name)
				}
				return nil
			})
		}
	}
}

// takeAway takes one verb after another away from a definition, waits until each right with it is missed, and gives it back.
func (r *exampleRun) takeAway(d *exampleDefinition) {
	r.T.Helper()
	for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete", ""} {
		var missed []string
		for _, role := range d.roles {
			rules := r.rulesOf(role)
			for i := range rules {
				if !slices.Contains(rules[i].Verbs, verb) {
					continue
				}
				rules[i].Verbs = slices.DeleteFunc(rules[i].Verbs, func(v string) bool { return v == verb })
				for _, resource := range rules[i].Resources {
					right := access.Right{GroupResource: schema.GroupResource{Group: rules[i].APIGroups[0]}}
					right.Resource, right.Subresource, _ = strings.Cut(resource, "/")
					text := verb + " " + right.Plural()
					if resource != "events" && !d.isRelated(right.GroupResource) && !slices.Contains(r.answered, text) {
						missed = append(missed, strings.Join(append([]string{text}, rules[i].ResourceNames...), " "))
					}
				}
			}
			r.setRules(role, slices.DeleteFunc(rules, func(rule rbacv1.PolicyRule) bool { return len(rule.Verbs) == 0 }))
		}
		if len(missed) > 0 {
			r.WaitForConditionOf(d.kind, d.name, "Authorized", "False", missed...)
		}
	}
	r.WaitForConditionOf(d.kind, d.name, "Authorized", "True", "may do what is known to be needed")
}

// setRules changes the rules of a role in the cluster.
func (r *exampleRun) setRules(role *unstructured.Unstructured, rules []rbacv1.PolicyRule) {
	r.T.Helper()
	patch, err := json.Marshal(map[string]any{"rules": rules})
	r.NoError(err)
	resource := rbacv1.SchemeGroupVersion.WithResource(strings.ToLower(role.GetKind()) + "s")
	_, err = r.Cluster.Dynamic().Resource(resource).Namespace(role.GetNamespace()).
		Patch(r.T.Context(), role.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
	r.NoError(err)
}
