package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/test/env"
)

const otherFinalizer = "example.com/holds"

// truthEnv is an Env whose webhooks record their calls by parent.
type truthEnv struct {
	*env.Env
	server *server
	calls  *calls
}

// calls has the hooks that were called, by parent.
type calls struct {
	mu sync.Mutex
	of map[string][]string
}

// newTruthEnv returns a truthEnv without a libretto. Finalizers of the garbage collector stay on its objects.
func newTruthEnv(t *testing.T) *truthEnv {
	t.Helper()
	s := &truthEnv{Env: env.NewWithThings(t), server: serve(t, nil), calls: &calls{of: map[string][]string{}}}
	s.server.says(s.answer)
	s.keepCollectorsFinalizers()
	t.Cleanup(s.removeFinalizers)
	return s
}

func (s *truthEnv) in(t *testing.T) *truthEnv {
	return &truthEnv{Env: s.Env.WithT(t), server: s.server, calls: s.calls}
}

func parentName(kind, row string) string { return kind[:1] + "-" + row }

// definitionName is the name of the definition of that kind with, or without, a finalize hook.
func (s *truthEnv) definitionName(kind string, finalize bool) string {
	return s.Namespace + "-" + kind[:1] + map[bool]string{false: "-plain", true: "-final"}[finalize]
}

func (s *truthEnv) finalizer(kind string, finalize bool) string {
	return "metacontroller.io/" + kind + "controller-" + s.definitionName(kind, finalize)
}

// define applies a definition, whose parents have the label set: <its name>.
func (s *truthEnv) define(kind string, finalize bool) {
	s.T.Helper()
	name := s.definitionName(kind, finalize)
	hooks := []string{"sync"}
	if finalize {
		hooks = append(hooks, "finalize")
	}
	for i, hook := range hooks {
		hooks[i] = fmt.Sprintf("    %s: {version: v2, webhook: {url: %q}}", hook, s.server.URL+"/"+hook)
	}
	parents := fmt.Sprintf("{apiVersion: %s/v1, resource: things, labelSelector: {matchLabels: {set: %s}}}", s.Group, name)
	const children = "[{apiVersion: v1, resource: configmaps}]"
	spec := fmt.Sprintf("  generateSelector: true\n  parentResource: %s\n  childResources: %s", parents, children)
	if kind == "decorator" {
		spec = fmt.Sprintf("  resources: [%s]\n  attachments: %s", parents, children)
	}
	s.Apply(fmt.Sprintf("apiVersion: metacontroller.k8s.io/v1alpha1\nkind: %sController\nmetadata: {name: %s}\nspec:\n%s\n  hooks:\n%s",
		strings.ToUpper(kind[:1])+kind[1:], name, spec, strings.Join(hooks, "\n")))
	if kind == "decorator" {
		s.T.Cleanup(func() {
			s.Delete(env.CompositeControllers.GroupVersion().WithResource("decoratorcontrollers"), "", name)
		})
	}
}

// parent makes a parent as a row has it.
func (s *truthEnv) parent(kind, name string, r row) {
	s.T.Helper()
	full, set := parentName(kind, name), s.definitionName(kind, r.hook)
	if r.other {
		set = "none"
	}
	var finalizers []string
	if r.held {
		finalizers = append(finalizers, s.finalizer(kind, r.hook))
	}
	if r.deleting != "" {
		finalizers = append(finalizers, otherFinalizer)
	}
	parent := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"ends": r.ends, "silent": r.silent}}}
	parent.SetAPIVersion(s.Group + "/v1")
	parent.SetKind("Thing")
	parent.SetName(full)
	parent.SetLabels(map[string]string{"set": set})
	parent.SetFinalizers(finalizers)
	s.ApplyObject(parent)
	s.Patch(s.Things(), full, `{"status": {"said": "before"}}`, "status")
	if r.deleting == "" {
		return
	}
	s.NoError(s.In(s.Things()).Delete(s.T.Context(), full, metav1.DeleteOptions{PropagationPolicy: &r.deleting}))
}

// answer notes the call and wants a ConfigMap of the parent's name.
func (s *truthEnv) answer(w http.ResponseWriter, r *http.Request) {
	request := struct {
		Parent, Object unstructured.Unstructured
		Finalizing     bool
	}{}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	hook, list, parent := path.Base(r.URL.Path), "children", request.Parent
	if parent.Object == nil {
		list, parent = "attachments", request.Object
	}
	noted := hook
	if request.Finalizing != (hook == "finalize") {
		noted += fmt.Sprintf(" with finalizing: %v", request.Finalizing)
	}
	s.calls.note(parent.GetName(), noted)
	spec, _ := parent.Object["spec"].(map[string]any)
	answer := map[string]any{"finalized": spec["ends"], "status": map[string]any{"said": hook}, list: []any{map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": parent.GetName()},
	}}}
	if spec["silent"] == true {
		delete(answer, "status")
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func (c *calls) note(parent, hook string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.of[parent], hook) {
		c.of[parent] = append(c.of[parent], hook)
	}
}

// asked are the hooks that were called about a parent.
func (s *truthEnv) asked(parent string) string {
	s.calls.mu.Lock()
	defer s.calls.mu.Unlock()
	return strings.Join(s.calls.of[parent], ", ")
}

// keepCollectorsFinalizers makes the API server refuse to remove foregroundDeletion and orphan from Things: the garbage
// collector would remove them at any moment, as the parents have no children.
func (s *truthEnv) keepCollectorsFinalizers() {
	s.T.Helper()
	const kept = `!has(oldObject.metadata.finalizers) || oldObject.metadata.finalizers.all(f, !(f in ["foregroundDeletion", "orphan"]) ||
    has(object.metadata.finalizers) && f in object.metadata.finalizers)`
	s.Apply(fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  failurePolicy: Fail
  matchConstraints: {resourceRules: [{apiGroups: [%[2]s], apiVersions: ["*"], operations: [UPDATE], resources: [things]}]}
  validations: [{expression: %[3]s, message: the garbage collector waits}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}`, s.Namespace, s.Group, env.Quote(kept)))
	s.Apply(fmt.Sprintf("{apiVersion: %s/v1, kind: Thing, metadata: {name: probe, finalizers: [orphan]}}", s.Group))
	s.Eventually(func() error {
		_, err := s.In(s.Things()).Patch(s.T.Context(), "probe", types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`),
			metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !strings.Contains(err.Error(), "the garbage collector waits") {
			return fmt.Errorf("the policy is not in force: %v", err)
		}
		return nil
	})
}

// removeFinalizers removes what would keep the namespace from being deleted.
func (s *truthEnv) removeFinalizers() {
	admission := schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1"}
	s.Delete(admission.WithResource("validatingadmissionpolicybindings"), "", s.Namespace)
	s.Delete(admission.WithResource("validatingadmissionpolicies"), "", s.Namespace)
	list, err := s.In(s.Things()).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		s.T.Error(err)
		return
	}
	for _, thing := range list.Items {
		// The policy may be in force a little longer; its objects stay then, for as long as the control plane does.
		_, _ = s.In(s.Things()).Patch(context.Background(), thing.GetName(), types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`),
			metav1.PatchOptions{})
	}
}
