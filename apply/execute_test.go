package apply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

var errBoom = errors.New("boom")

// cluster returns a client of a cluster that holds objects.
func cluster(objects ...*unstructured.Unstructured) *fake.FakeDynamicClient {
	held := make([]runtime.Object, len(objects))
	for i, o := range objects {
		held[i] = o
	}
	kinds := map[schema.GroupVersionResource]string{}
	for _, r := range []Rule{podRule, serviceRule, namespaceRule, roleRule} {
		kinds[r.Resource] = r.Kind.Kind + "List"
	}
	return fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, held...)
}

// requests writes down what a client was asked, with its options.
func requests(client *fake.FakeDynamicClient) []string {
	var out []string
	for _, a := range client.Actions() {
		line := a.GetVerb() + " " + a.GetResource().Resource + " " + a.GetNamespace()
		switch a := a.(type) {
		case clienttesting.CreateActionImpl:
			line += "/" + a.Object.(*unstructured.Unstructured).GetName() + " by " + a.CreateOptions.FieldManager
		case clienttesting.UpdateActionImpl:
			u := a.Object.(*unstructured.Unstructured)
			line += "/" + u.GetName() + "@" + u.GetResourceVersion() + " by " + a.UpdateOptions.FieldManager
		case clienttesting.PatchActionImpl:
			line += "/" + a.Name + " " + string(a.PatchType) + " " + string(a.Patch) + " by " + a.PatchOptions.FieldManager
		case clienttesting.DeleteActionImpl:
			o := a.DeleteOptions
			line += fmt.Sprintf("/%s uid %s@%s %s", a.Name, *o.Preconditions.UID, *o.Preconditions.ResourceVersion, *o.PropagationPolicy)
		}
		out = append(out, line)
	}
	return out
}

func TestExecuteRequests(t *testing.T) {
	a := stored(t, object(podRule, "a"))
	orphan := stored(t, object(podRule, "a"), func(u *unstructured.Unstructured) { u.SetOwnerReferences(nil) })
	prod := stored(t, object(namespaceRule, "prod"))
	updated := a.DeepCopy()
	spec("x", "1")(updated)
	cases := map[string]struct {
		reason string
		held   *unstructured.Unstructured
		change Change
		want   string
	}{
		"Create": {
			reason: "creating is one POST",
			change: Change{Action: ActionCreate, Key: KeyOf(a), Resource: podRule.Resource, Object: object(podRule, "a")},
			want:   "create pods default/a by libretto",
		},
		"CreateClusterWide": {
			reason: "what has no namespace is created without",
			change: Change{Action: ActionCreate, Key: KeyOf(prod), Resource: namespaceRule.Resource, Object: object(namespaceRule, "prod")},
			want:   "create namespaces /prod by libretto",
		},
		"Update": {
			reason: "updating is one PUT of the observed version", held: a,
			change: Change{Action: ActionUpdate, Key: KeyOf(a), Resource: podRule.Resource, Object: updated, Observed: a},
			want:   "update pods default/a@7 by libretto",
		},
		"Delete": {
			reason: "only the observed object is deleted, and what it owns behind it", held: a,
			change: about(ActionDelete, a, podRule.Resource),
			want:   "delete pods default/a uid uid-of-a@7 Background",
		},
		"DeleteGone": {
			reason: "what is not there is deleted",
			change: about(ActionDelete, a, podRule.Resource),
			want:   "delete pods default/a uid uid-of-a@7 Background",
		},
		"Recreate": {
			reason: "recreating deletes", held: a,
			change: about(ActionRecreate, a, podRule.Resource),
			want:   "delete pods default/a uid uid-of-a@7 Background",
		},
		"Adopt": {
			reason: "adopting is one PATCH of the observed version", held: orphan,
			change: Adopt(orphan, owner, podRule.Resource),
			want: `patch pods default/a application/merge-patch+json {"metadata":{"ownerReferences":[{"apiVersion":"example.com/v1",` +
				`"blockOwnerDeletion":true,"controller":true,"kind":"Web","name":"web","uid":"owner-uid"}],"resourceVersion":"7","uid":"uid-of-a"}} by libretto`,
		},
		"Release": {
			reason: "releasing is one PATCH of the observed version", held: a,
			change: Release(a, owner, podRule.Resource),
			want:   `patch pods default/a application/merge-patch+json {"metadata":{"ownerReferences":[],"resourceVersion":"7","uid":"uid-of-a"}} by libretto`,
		},
		"ReleaseGone": {
			reason: "what is not there is released",
			change: Release(a, owner, podRule.Resource),
			want:   `patch pods default/a application/merge-patch+json {"metadata":{"ownerReferences":[],"resourceVersion":"7","uid":"uid-of-a"}} by libretto`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			client := cluster()
			if tc.held != nil {
				client = cluster(tc.held.DeepCopy())
			}
			results := Execute(t.Context(), client, []Change{tc.change}, Options{FieldManager: "libretto"})
			if err := results[0].Err; err != nil {
				t.Errorf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff([]string{tc.want}, requests(client)); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestMayDelete checks that nothing is deleted, or deleted to be created again, that must not be.
func TestMayDelete(t *testing.T) {
	pod, other := stored(t, object(podRule, "a")), stored(t, object(podRule, "b"))
	client := cluster(pod, other)
	forbidden := apierrors.NewForbidden(podRule.Resource.GroupResource(), "a", errBoom)
	results := Execute(t.Context(), client, []Change{
		about(ActionRecreate, pod, podRule.Resource), about(ActionDelete, other, podRule.Resource),
	}, Options{MayDelete: func(_ context.Context, c Change) error {
		if c.Action == ActionRecreate {
			return forbidden
		}
		return nil
	}})
	if err := results[0].Err; !errors.Is(err, forbidden) || Classify(err) != FailureInvalid {
		t.Errorf("the recreation ends with %v, want that it is forbidden", err)
	}
	if err := results[1].Err; err != nil {
		t.Errorf("what is not wanted any more is not deleted: %v", err)
	}
	if diff := cmp.Diff([]string{"delete@7 uid-of-b"}, describeRequests(client)); diff != "" {
		t.Errorf("(-want, +got):\n%s", diff)
	}
}

// TestExecuteOrder checks the phases, and that outcomes keep the order of changes.
func TestExecuteOrder(t *testing.T) {
	role, pod := stored(t, object(roleRule, "r")), stored(t, object(podRule, "p"))
	prod, orphan := stored(t, object(namespaceRule, "n")), stored(t, object(serviceRule, "s"))
	changes := []Change{
		about(ActionDelete, prod, namespaceRule.Resource),
		about(ActionDelete, role, roleRule.Resource),
		about(ActionDelete, pod, podRule.Resource),
		{Action: ActionCreate, Key: KeyOf(object(podRule, "new")), Resource: podRule.Resource, Object: object(podRule, "new")},
		{Action: ActionCreate, Key: KeyOf(object(roleRule, "new")), Resource: roleRule.Resource, Object: object(roleRule, "new")},
		{Action: ActionCreate, Key: KeyOf(object(namespaceRule, "new")), Resource: namespaceRule.Resource, Object: object(namespaceRule, "new")},
		Release(orphan, owner, serviceRule.Resource),
	}
	client := cluster(role, pod, prod, orphan)
	var got []Change
	for _, o := range Execute(t.Context(), client, changes, Options{Parallel: 4}) {
		if o.Err != nil {
			t.Error(o.Err)
		}
		got = append(got, o.Change)
	}
	if diff := cmp.Diff(steps(changes), steps(got)); diff != "" {
		t.Errorf("outcomes are in another order (-want, +got):\n%s", diff)
	}
	var verbs []string
	for _, a := range client.Actions() {
		verbs = append(verbs, a.GetVerb()+" "+a.GetResource().Resource)
	}
	want := []string{
		"patch services", "delete pods", "delete roles", "delete namespaces",
		"create namespaces", "create roles", "create pods",
	}
	if diff := cmp.Diff(want, verbs); diff != "" {
		t.Errorf("(-want, +got):\n%s", diff)
	}
}

// TestExecuteAfterAdoption checks that an object can be adopted and written in one go.
func TestExecuteAfterAdoption(t *testing.T) {
	orphan := stored(t, object(podRule, "a"), func(u *unstructured.Unstructured) { u.SetOwnerReferences(nil) })
	desired := object(podRule, "a", spec("x", "1"))
	cases := map[string]struct {
		reason  string
		desired []*unstructured.Unstructured
		err     error
		want    []string
	}{
		"Adopted":  {reason: "the update is made to the adopted version and keeps the owner", desired: list(desired), want: []string{"patch", "update 8 [owner-uid]"}},
		"Unwanted": {reason: "the adopted version is deleted", want: []string{"patch", "delete 8"}},
		"Refused":  {reason: "what could not be adopted is not touched", desired: list(desired), err: errBoom, want: []string{"patch"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			changes, err := Diff(Input{Owner: owner, Observed: list(orphan), Desired: tc.desired, Rules: []Rule{podRule}})
			if err != nil {
				t.Fatal(err)
			}
			changes = append([]Change{Adopt(orphan, owner, podRule.Resource)}, changes...)
			client := cluster(orphan.DeepCopy())
			client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				now := orphan.DeepCopy()
				now.SetResourceVersion("8")
				now.SetOwnerReferences([]metav1.OwnerReference{owner})
				return true, now, tc.err
			})
			results := Execute(t.Context(), client, changes, Options{})
			for _, o := range results {
				if !errors.Is(o.Err, tc.err) {
					t.Errorf("%s: %s: %v", tc.reason, o.Change.Action, o.Err)
				}
			}
			var got []string
			for _, a := range client.Actions() {
				line := a.GetVerb()
				switch a := a.(type) {
				case clienttesting.UpdateActionImpl:
					u := a.Object.(*unstructured.Unstructured)
					line = fmt.Sprintf("%s %s [%s]", line, u.GetResourceVersion(), u.GetOwnerReferences()[0].UID)
				case clienttesting.DeleteActionImpl:
					line += " " + *a.DeleteOptions.Preconditions.ResourceVersion
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// creations returns changes that create n pods.
func creations(n int) []Change {
	changes := make([]Change, n)
	for i := range changes {
		pod := object(podRule, fmt.Sprintf("pod-%d", i))
		changes[i] = Change{Action: ActionCreate, Key: KeyOf(pod), Resource: podRule.Resource, Object: pod}
	}
	return changes
}

// TestExecuteGoesOn checks that a failure, even a panic, concerns its own change only.
func TestExecuteGoesOn(t *testing.T) {
	client := cluster()
	client.PrependReactor("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		switch a.(clienttesting.CreateActionImpl).Object.(*unstructured.Unstructured).GetName() {
		case "pod-0":
			return true, nil, errBoom
		case "pod-1":
			panic("ouch")
		}
		return false, nil, nil
	})
	var got []string
	for _, o := range Execute(t.Context(), client, creations(3), Options{Parallel: 2}) {
		line, _, _ := strings.Cut(fmt.Sprint(o.Err), "\n")
		got = append(got, line)
	}
	want := []string{"Pod default/pod-0: create: boom", "Pod default/pod-1: create: panic: ouch", "<nil>"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want, +got):\n%s", diff)
	}
}

func TestExecuteEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	client := cluster()
	client.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		cancel()
		return false, nil, nil
	})
	results := Execute(ctx, client, creations(3), Options{})
	if results[0].Err != nil || !errors.Is(results[1].Err, context.Canceled) || !errors.Is(results[2].Err, context.Canceled) {
		t.Errorf("nothing is begun after the end of the context, but got %v, %v, %v", results[0].Err, results[1].Err, results[2].Err)
	}
	if n := len(client.Actions()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// TestExecuteBound checks that as many writes run as may, and no more.
func TestExecuteBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		client := &gated{FakeDynamicClient: cluster(), gate: gate}
		changes := creations(7)
		done := make(chan []Result, 1)
		go func() { done <- Execute(t.Context(), client, changes, Options{Parallel: 3}) }()
		for _, want := range []int{3, 3, 3, 3, 3, 2, 1} {
			synctest.Wait()
			if got := client.inFlight(); got != want {
				t.Errorf("%d writes under way, want %d", got, want)
			}
			gate <- struct{}{}
		}
		if results := <-done; len(results) != len(changes) {
			t.Errorf("%d outcomes", len(results))
		}
	})
}

func TestClassify(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	cases := map[string]struct {
		reason string
		err    error
		want   Failure
	}{
		"None":        {reason: "no error is no failure"},
		"Conflict":    {reason: "somebody else was faster", err: apierrors.NewConflict(pods, "a", errBoom), want: FailureConflict},
		"NotFound":    {reason: "somebody else deleted it", err: apierrors.NewNotFound(pods, "a"), want: FailureConflict},
		"NoNamespace": {reason: "there is no place for it", err: apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "n"), want: FailureNamespaceMissing},
		"NoKind":      {reason: "its kind is no longer served", err: apierrors.NewGenericServerResponse(404, "POST", pods, "", "", 0, true), want: FailureConflict},
		"Terminating": {reason: "its place is on its way out", err: terminating(pods), want: FailureNamespaceMissing},
		"Exists":      {reason: "somebody else has it", err: apierrors.NewAlreadyExists(pods, "a"), want: FailureAlreadyExists},
		"Invalid":     {reason: "it is wrong", err: apierrors.NewInvalid(podRule.Kind.GroupKind(), "a", nil), want: FailureInvalid},
		"Forbidden":   {reason: "we may not", err: apierrors.NewForbidden(pods, "a", errBoom), want: FailureInvalid},
		"BadRequest":  {reason: "it can't be read", err: apierrors.NewBadRequest("x"), want: FailureInvalid},
		"TooLarge":    {reason: "it is too much", err: apierrors.NewRequestEntityTooLargeError("x"), want: FailureInvalid},
		"Throttled":   {reason: "later it will do", err: apierrors.NewTooManyRequests("x", 1), want: FailureUnavailable},
		"Timeout":     {reason: "later it will do", err: apierrors.NewTimeoutError("x", 1), want: FailureUnavailable},
		"Internal":    {reason: "its own trouble", err: apierrors.NewInternalError(errBoom), want: FailureUnavailable},
		"Unreachable": {reason: "no answer at all", err: http.ErrHandlerTimeout, want: FailureUnavailable},
		"Context":     {reason: "no time left", err: context.DeadlineExceeded, want: FailureUnavailable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := tc.err
			if err != nil {
				err = fmt.Errorf("Pod default/a: update: %w", err)
			}
			if got := Classify(err); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// terminating is what a creation is answered in a namespace that is being deleted.
func terminating(resource schema.GroupResource) error {
	err := apierrors.NewForbidden(resource, "a", errBoom)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause, Field: "metadata.namespace"}}
	return err
}

func TestNoEffect(t *testing.T) {
	at := func(version string) *unstructured.Unstructured {
		u := object(podRule, "a")
		u.SetResourceVersion(version)
		return u
	}
	cases := map[string]struct {
		reason  string
		outcome Result
		want    bool
	}{
		"Same":    {reason: "an update that changes nothing leaves the version", outcome: Result{Change: Change{Action: ActionUpdate, Object: at("7")}, Object: at("7")}, want: true},
		"Changed": {reason: "an update that changes something does not", outcome: Result{Change: Change{Action: ActionUpdate, Object: at("7")}, Object: at("8")}},
		"Failed":  {reason: "a failure is another matter", outcome: Result{Change: Change{Action: ActionUpdate, Object: at("7")}, Err: errBoom}},
		"Create":  {reason: "only updates can be in vain", outcome: Result{Change: Change{Action: ActionCreate, Object: at("")}, Object: at("")}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.outcome.NoEffect(); got != tc.want {
				t.Errorf("%s: got %v", tc.reason, got)
			}
		})
	}
}

// counter counts what is under way.
type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += n
}

func (c *counter) inFlight() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// TestExecuteGone deletes what somebody else has deleted: no error, and no write of ours.
func TestExecuteGone(t *testing.T) {
	for name, action := range map[string]Action{"Delete": ActionDelete, "Recreate": ActionRecreate, "Release": ActionRelease} {
		t.Run(name, func(t *testing.T) {
			client := cluster()
			observed := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1"},
			}}
			change := about(action, observed, podRule.Resource)
			got := Execute(t.Context(), client, []Change{change}, Options{})[0]
			if got.Err != nil || !got.Gone {
				t.Errorf("error %v, gone: %v", got.Err, got.Gone)
			}
		})
	}
}
