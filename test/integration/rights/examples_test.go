package rights

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/runtime/access"
	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// TestExamples runs examples of all kinds under exactly what libretto rbac --from-tests prints for them, by a host that has exactly what
// libretto rbac --host prints. Each rule with which something is written was used, and each right less of some is missed.
func TestExamples(t *testing.T) {
	for _, tc := range []struct {
		example, kind, name, try string
		// file is the only one of an example without a kustomization.
		file string
		// answered are rights that hooks decide about, so that they are missed once it is used and not before.
		answered []string
		// less takes the rights away one by one.
		less bool
	}{
		{example: "hello", kind: env.Composite, name: "hello", file: "hello.yaml", try: "greeting.yaml", less: true},
		{example: "decorator", kind: env.Decorator, name: "pod-services", try: "statefulset.yaml", less: true, answered: []string{"patch statefulsets.apps"}},
		{example: "map", kind: env.Map, name: "catalogs", file: "map.yaml", try: "catalog.yaml", less: true},
		{example: "indexedjob", kind: env.Composite, name: "indexedjob", try: "indexedjob.yaml"},
		{example: "bluegreen", kind: env.Composite, name: "bluegreen", try: "bluegreen.yaml"},
		{example: "secretpropagation", kind: env.Composite, name: "secretpropagation", try: "secretpropagation.yaml"},
		{example: "previews", kind: env.Composite, name: "previewsets", try: "previews.yaml"},
	} {
		t.Run(tc.example, func(t *testing.T) {
			r := &exampleRun{Env: env.NewWithThings(t), folder: tc.example}
			r.account, r.host = r.NewUser("account"), r.NewUser("host")
			definition := r.apply(tc.file)
			r.Start("--kubeconfig", r.host.Kubeconfig(), "--namespace", r.Namespace)
			mark := r.Mark()
			r.Kubectl("apply", "-f", definition)
			r.Kubectl("apply", "-f", filepath.Join(r.path(), tc.try))
			r.WaitForConditionOf(tc.kind, tc.name, "Authorized", "True", "may do what is known to be needed")
			r.WaitForConditionOf(tc.kind, tc.name, "Ready", "True")
			r.Eventually(func() error { return r.synced(tc.kind, tc.name) })
			r.checkUsed(mark)
			if tc.less {
				r.takeAway(tc.kind, tc.name, tc.answered)
			}
		})
	}
}

// exampleRun is an example that runs.
type exampleRun struct {
	*env.Env
	folder        string
	account, host *env.User
	roles         []*unstructured.Unstructured
}

func (r *exampleRun) path() string {
	root, err := cluster.Root()
	r.NoError(err)
	return filepath.Join(root, "examples", r.folder)
}

// apply applies the roles of the example, and all of it but the definition, of which it returns the file.
func (r *exampleRun) apply(file string) (definition string) {
	r.T.Helper()
	text := ""
	if file == "" {
		text = r.Kubectl("kustomize", r.path())
	} else {
		read, err := os.ReadFile(filepath.Join(r.path(), file))
		r.NoError(err)
		text = string(read)
	}
	var definitions, others []string
	for document := range strings.SplitSeq(text, "\n---\n") {
		if strings.Contains(document, "apiVersion: metacontroller.k8s.io/v1alpha1") {
			account := fmt.Sprintf("\nspec:\n  serviceAccountRef: {namespace: %s, name: account}\n", r.Namespace)
			definitions = append(definitions, strings.Replace(document, "\nspec:\n", account, 1))
		} else {
			others = append(others, document)
		}
	}
	folder := r.T.TempDir()
	write := func(name string, documents []string) string {
		path := filepath.Join(folder, name)
		r.NoError(os.WriteFile(path, []byte(strings.Join(documents, "\n---\n")), 0o600))
		return path
	}
	definition, rest := write("definition.yaml", definitions), write("others.yaml", others)
	r.T.Cleanup(func() {
		if _, err := r.Cluster.Kubectl(context.Background(), "delete", "--ignore-not-found", "--wait=false", "-f", folder); err != nil {
			r.T.Error(err)
		}
	})
	for _, namespace := range []string{"shared-secrets"} {
		r.Apply("{apiVersion: v1, kind: Namespace, metadata: {name: " + namespace + "}}")
	}
	r.Kubectl("apply", "-f", rest)
	r.roles = r.rbac("-f", r.path(), "--from-tests", "--host-namespace", r.Namespace, "--host-service-account", "account")
	r.rbac("--host", "--host-namespace", r.Namespace, "--host-service-account", "host")
	r.rbac("-f", definition, "-f", rest, "--host", "--host-namespace", r.Namespace, "--host-service-account", "host")
	return definition
}

// rbac applies what libretto rbac prints, and returns the Roles and ClusterRoles.
func (r *exampleRun) rbac(args ...string) (roles []*unstructured.Unstructured) {
	r.T.Helper()
	binary, err := cluster.Binary("libretto")
	r.NoError(err)
	printed, err := exec.CommandContext(r.T.Context(), binary, append([]string{"rbac", "-o", "json"}, args...)...).Output()
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
	}
	return roles
}

// synced returns an error until all parents are synced.
func (r *exampleRun) synced(kind, name string) error {
	resource := map[string]schema.GroupVersionResource{
		env.Composite: env.CompositeControllers, env.Decorator: env.DecoratorControllers, env.Map: env.MapControllers,
	}[kind]
	object, err := r.Cluster.Dynamic().Resource(resource).Get(r.T.Context(), name, metav1.GetOptions{})
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

// checkUsed checks that each rule with a right to write was used by the account.
func (r *exampleRun) checkUsed(mark cluster.Mark) {
	r.T.Helper()
	for _, role := range r.roles {
		for _, rule := range r.rulesOf(role) {
			if !slices.Contains(rule.Verbs, "create") && !slices.Contains(rule.Verbs, "update") && !slices.Contains(rule.Verbs, "patch") {
				continue
			}
			r.Eventually(func() error {
				all, err := r.Cluster.Requests(r.T.Context(), mark, env.UserAgent)
				r.NoError(err)
				used := all.Writes().Filter(func(q cluster.Request) bool {
					resource := strings.TrimSuffix(q.Resource+"/"+q.Subresource, "/")
					return q.ImpersonatedUser == r.account.Name && q.Group == rule.APIGroups[0] && slices.Contains(rule.Resources, resource) &&
						slices.Contains(rule.Verbs, q.Verb) && q.Code < 300
				})
				if len(used) == 0 {
					return fmt.Errorf("nothing was written by the rule %v", rule)
				}
				return nil
			})
		}
	}
}

// takeAway takes the rights away one after another, and waits until each is missed.
func (r *exampleRun) takeAway(kind, name string, answered []string) {
	r.T.Helper()
	for _, role := range r.roles {
		resource := rbacv1.SchemeGroupVersion.WithResource(strings.ToLower(role.GetKind()) + "s")
		rules := r.rulesOf(role)
		for i := range rules {
			verbs := slices.Clone(rules[i].Verbs)
			for n, verb := range verbs {
				right := access.Right{GroupResource: schema.GroupResource{Group: rules[i].APIGroups[0]}}
				right.Resource, right.Subresource, _ = strings.Cut(rules[i].Resources[0], "/")
				rules[i].Verbs = verbs[n+1:]
				left := slices.DeleteFunc(slices.Clone(rules), func(rule rbacv1.PolicyRule) bool { return len(rule.Verbs) == 0 })
				patch, err := json.Marshal(map[string]any{"rules": left})
				r.NoError(err)
				_, err = r.Cluster.Dynamic().Resource(resource).Namespace(role.GetNamespace()).
					Patch(r.T.Context(), role.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
				r.NoError(err)
				if !slices.Contains(answered, verb+" "+right.Plural()) && right.Resource != "events" {
					r.WaitForConditionOf(kind, name, "Authorized", "False", strings.Join(verbs[:n+1], ", ")+" "+right.Plural())
				}
			}
		}
	}
}
