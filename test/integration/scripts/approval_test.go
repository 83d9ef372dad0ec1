package scripts_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

const (
	approves = "metacontroller.k8s.io/approved-revision"
	because  = "metacontroller.k8s.io/approval-reason"
)

// annotations returns a merge patch of annotations, by name and value in turn. A value is JSON.
func annotations(pairs ...string) []byte {
	var all []string
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, fmt.Sprintf("%q: %s", pairs[i], pairs[i+1]))
	}
	return []byte(`{"metadata": {"annotations": {` + strings.Join(all, ", ") + `}}}`)
}

// hold edits the scripts so that the edit is held, and returns the ID of its revision.
func hold(e *env.Env, definition string) string {
	e.T.Helper()
	applyFiles(e, "hooks", "sync.js", scriptForgetting("two"))
	e.WaitForCondition(definition, "Progressing", "False", "Held", "it would delete 9 of 9 children")
	id, _, _ := unstructured.NestedString(e.ClusterScope().Get(env.CompositeControllers, definition).Object, "status", "scriptRollout", "heldRevision")
	if len(id) != 64 {
		e.T.Fatalf("revision %q is held", id)
	}
	return id
}

// restrictApprovals applies the admission policy, and waits until it counts for a user without the right to approve.
func restrictApprovals(e *env.Env, without *env.User) {
	e.T.Helper()
	e.NoError(e.Cluster.ApplyFiles(e.T.Context(), filepath.Join("..", "..", "..", "manifests", "approval")))
	e.Eventually(func() error {
		_, err := without.In(env.ConfigMaps).Patch(e.T.Context(), "hooks", types.MergePatchType, annotations(approves, `"x"`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if !apierrors.IsForbidden(err) {
			return fmt.Errorf("the policy does not count yet: %v", err)
		}
		return nil
	})
}

// newEditor returns a user who may edit the definition and what is in the namespace, and not approve.
func newEditor(e *env.Env, name string) *env.User {
	e.T.Helper()
	editor := e.NewUser(name)
	editor.Bind(e.Namespace, "edit")
	editor.Grant("", "metacontroller.k8s.io", "compositecontrollers", "get", "create", "update", "patch")
	return editor
}

// TestApprovalIsARight has a user who may edit definitions and ConfigMaps: they write all but approvals, and may take one away. With the right
// to approve the edit is let through; who, when and why is reported as far as it is known.
func TestApprovalIsARight(t *testing.T) {
	t.Parallel()
	e, definition := newWithChildren(t, "InPlace")
	editor := newEditor(e, "editor")
	restrictApprovals(e, editor)
	definitions, configMaps := editor.Dynamic().Resource(env.CompositeControllers), editor.In(env.ConfigMaps)
	patch := func(in dynamic.ResourceInterface, name string, kind types.PatchType, patch []byte) error {
		_, err := in.Patch(t.Context(), name, kind, patch, metav1.PatchOptions{FieldManager: "editor"})
		return err
	}
	e.NoError(patch(definitions, definition, types.MergePatchType, annotations("note", `"edited"`)))
	e.NoError(patch(configMaps, "hooks", types.MergePatchType, []byte(`{"data": {"other.js": "// edited\n"}}`)))
	before, id := uids(e), hold(e, definition)
	refused := func(what string, resource schema.GroupResource, object string, err error) {
		t.Helper()
		want := fmt.Sprintf("user %s may not approve %s %s", editor.Name, resource, object)
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "verbs: [approve]}; ClusterRole libretto-approve has it") {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	onDefinition, onConfigMap := env.CompositeControllers.GroupResource(), env.ConfigMaps.GroupResource()
	refused("definition", onDefinition, definition, patch(definitions, definition, types.MergePatchType, annotations(approves, `"`+id+`"`)))
	refused("reason", onDefinition, definition, patch(definitions, definition, types.MergePatchType, annotations(because, `"why not"`)))
	refused("ConfigMap", onConfigMap, e.Namespace+"/hooks", patch(configMaps, "hooks", types.MergePatchType, annotations(approves, `"`+id+`"`)))
	applied := fmt.Sprintf(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new", "annotations": {%q: %q}}}`, approves, id)
	refused("applied", onConfigMap, e.Namespace+"/new", patch(configMaps, "new", types.ApplyPatchType, []byte(applied)))
	_, err := configMaps.Create(t.Context(), e.Parse(applied), metav1.CreateOptions{})
	refused("created", onConfigMap, e.Namespace+"/new", err)
	command(e, editor.Kubeconfig(), "rollout approve cc/"+definition, 2, "you may not approve compositecontrollers.metacontroller.k8s.io in all namespaces: "+
		`it takes a ClusterRole with the rule {apiGroups: ["metacontroller.k8s.io"], resources: [compositecontrollers], verbs: [approve]}; ClusterRole libretto-approve has it`)
	isWhole(e, before, "nobody who may has approved it")

	approver, mark := newEditor(e, "approver"), mark(e)
	approver.Bind("", "libretto-approve")
	command(e, approver.Kubeconfig(), "rollout approve --reason=CHG-1234 cc/"+definition, 0, " is approved\n")
	waitForSaid(e, "a", "two")
	began := time.Now()
	e.WaitForEvent(definition, "Approved", "revision "+id[:16]+" is approved by the annotation "+approves+" of CompositeController "+definition+", by field manager libretto-rollout, at ",
		" or before: CHG-1234\n", "in the audit log of the API server alone")
	approval := approvalIn(e, definition)
	if at, err := time.Parse(time.RFC3339, fmt.Sprint(approval["writtenAt"])); err != nil || began.Sub(at).Abs() > time.Minute {
		t.Errorf("it was written at %v (%v), want %s", approval["writtenAt"], err, began)
	}
	delete(approval, "writtenAt")
	if got, want := fmt.Sprint(approval), fmt.Sprintf("map[manager:libretto-rollout object:CompositeController %s reason:CHG-1234]", definition); got != want {
		t.Errorf("the status says %s, want %s", got, want)
	}
	requests, err := e.Cluster.Requests(t.Context(), mark, "")
	e.NoError(err)
	want := "user " + approver.Name + " approves revision " + id + " on compositecontrollers.metacontroller.k8s.io " + definition + ": CHG-1234"
	if got := requests.Filter(func(r cluster.Request) bool { return r.Annotations["libretto-approve/approval"] == want }); len(got) != 1 || got[0].User != approver.Name {
		t.Errorf("the audit log has %d requests with %q", len(got), want)
	}

	e.NoError(patch(definitions, definition, types.MergePatchType, annotations("note", `"edited beside an approval"`)))
	refused("another ID", onDefinition, definition, patch(definitions, definition, types.MergePatchType, annotations(approves, `"`+id[:16]+`"`)))
	e.NoError(patch(definitions, definition, types.MergePatchType, annotations(approves, "null", because, "null")))
}

func mark(e *env.Env) cluster.Mark {
	e.T.Helper()
	mark, err := e.Cluster.Mark(e.T.Context())
	e.NoError(err)
	return mark
}

// approvalIn returns what the status says of the approval, once it does.
func approvalIn(e *env.Env, definition string) (approval map[string]any) {
	e.T.Helper()
	e.ClusterScope().WaitFor(env.CompositeControllers, definition, func(object *unstructured.Unstructured) error {
		approval, _, _ = unstructured.NestedMap(object.Object, "status", "scriptRollout", "approval")
		if approval == nil {
			return fmt.Errorf("no approval in %v", object.Object["status"])
		}
		return nil
	})
	return approval
}

// TestWrongApprovalsAreTold annotates with what approves nothing: each is reported once, on the definition and on the ConfigMap that has it. Then a
// ConfigMap approves, in upper case, as the definition allows it.
func TestWrongApprovalsAreTold(t *testing.T) {
	t.Parallel()
	e, definition := newWithChildren(t, "InPlace")
	before, id := uids(e), hold(e, definition)
	annotate := func(on string) {
		e.T.Helper()
		e.ClusterScope().Patch(env.CompositeControllers, definition, string(annotations(approves, on)))
	}
	reports := func(object string, parts ...string) {
		t.Helper()
		e.WaitForCondition(definition, "Progressing", "False", append(parts, "Held")...)
		e.WaitForEvent(object, "ApprovalInvalid", parts...)
	}
	annotate(`"` + id[:15] + `"`)
	reports(definition, "annotation "+approves+" of CompositeController "+definition+` is "`+id[:15]+`", which is no ID of a revision`)
	annotate(`"0123456789abcdef"`)
	reports(definition, " names revision 0123456789abcdef, and the one that waits for its approval is "+id[:16])
	annotate("null")
	e.Patch(env.ConfigMaps, "hooks", string(annotations(approves, `"yes"`)))
	reports("hooks", "of ConfigMap "+e.Namespace+`/hooks is "yes", which is no ID`)
	e.Patch(env.ConfigMaps, "hooks", string(annotations(approves, `"  `+strings.ToUpper(id)+`\n"`, because, `"in the same commit"`)))
	reports("hooks", "of ConfigMap "+e.Namespace+"/hooks does not count: annotate the definition, or let its spec.scriptRollout.approvals be ConfigMap")
	isWhole(e, before, "wrong approvals")
	e.Restart()
	e.WaitForCondition(definition, "Progressing", "False", "Held", "does not count")
	isWhole(e, before, "wrong approvals, and a restart")

	e.ClusterScope().Patch(env.CompositeControllers, definition, `{"spec": {"scriptRollout": {"approvals": "ConfigMap"}}}`)
	waitForSaid(e, "a", "two")
	e.WaitForCondition(definition, "Progressing", "True", "Serving")
	e.WaitForEvent("hooks", "Approved", "CompositeController "+definition+": revision "+id[:16], "of ConfigMap "+e.Namespace+"/hooks, by field manager ", ": in the same commit\n")
	if approval := approvalIn(e, definition); approval["object"] != "ConfigMap "+e.Namespace+"/hooks" || approval["reason"] != "in the same commit" {
		t.Errorf("the status says %v", approval)
	}
	if ready := e.WaitForCondition(definition, "Ready", "True"); ready.Reason != "Running" {
		t.Errorf("an approval that was used is reported: %s: %s", ready.Reason, ready.Message)
	}
	for object, wants := range map[string]int{definition: 4, "hooks": 2} {
		if got := countEvents(e, object, "ApprovalInvalid", definition); got < wants || got > wants+1 { // The last one is reported again after the restart.
			t.Errorf("%d events ApprovalInvalid on %s, want %d", got, object, wants)
		}
	}
}

// countEvents returns how many events on an object have the reason and name the definition.
func countEvents(e *env.Env, object, reason, definition string) (count int) {
	e.T.Helper()
	list, err := e.Cluster.Dynamic().Resource(env.Events).List(e.T.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + object + ",reason=" + reason})
	e.NoError(err)
	for _, item := range list.Items {
		message, _, _ := unstructured.NestedString(item.Object, "message")
		n, _, _ := unstructured.NestedInt64(item.Object, "count")
		if object == definition || strings.Contains(message, definition) {
			count += int(max(n, 1))
		}
	}
	return count
}

// TestHooksDoNotApprove has a script that answers its own ConfigMap with an approval, which the host would write with its own rights.
func TestHooksDoNotApprove(t *testing.T) {
	t.Parallel()
	e, definition := newWithChildren(t, "InPlace")
	script := strings.Replace(scriptMaking("two"), `metadata: {name: name + "-" + n}`, `metadata: {name: name + "-" + n, annotations: {"`+approves+`": "0123456789abcdef"}}`, 1)
	e.ClusterScope().Patch(env.CompositeControllers, definition, `{"spec": {"scriptRollout": {"preview": {}}}}`)
	applyFiles(e, "hooks", "sync.js", script)
	e.WaitForCondition(definition, "ParentsSynced", "False", `children[0].metadata.annotations["`+approves+`"]: approves an edit of scripts, which no hook may do`)
}
