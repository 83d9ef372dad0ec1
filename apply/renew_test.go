package apply

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

// describeRequests writes down requests with their preconditions.
func describeRequests(client *fake.FakeDynamicClient) []string {
	var out []string
	for _, a := range client.Actions() {
		line := a.GetVerb()
		switch a := a.(type) {
		case clienttesting.UpdateActionImpl:
			line += "@" + a.Object.(*unstructured.Unstructured).GetResourceVersion()
		case clienttesting.DeleteActionImpl:
			if version := a.DeleteOptions.Preconditions.ResourceVersion; version != nil {
				line += "@" + *version
			}
			line += " " + string(*a.DeleteOptions.Preconditions.UID)
		}
		out = append(out, line)
	}
	return out
}

// conflicts has the first n requests with a verb fail.
func conflicts(client *fake.FakeDynamicClient, verb string, n int, err error) {
	client.PrependReactor(verb, "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		n--
		return n >= 0, nil, err
	})
}

func TestExecuteRenews(t *testing.T) {
	observed := stored(t, object(podRule, "a"))
	live := stored(t, object(podRule, "a"), func(u *unstructured.Unstructured) {
		u.SetResourceVersion("9")
		u.SetLabels(map[string]string{"by": "others"})
	})
	another := stored(t, object(podRule, "a"), func(u *unstructured.Unstructured) { u.SetUID("another") })
	desired := object(podRule, "a", spec("x", "1"))
	conflict := apierrors.NewConflict(podRule.Resource.GroupResource(), "a", errBoom)
	contested := apierrors.NewConflict(podRule.Resource.GroupResource(), "a", errBoom)
	contested.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.x"}}
	cases := map[string]struct {
		reason  string
		live    *unstructured.Unstructured
		desired []*unstructured.Unstructured
		verb    string
		times   int
		err     error
		refuse  bool // nothing is to be done any more
		want    []string
		failure Failure
		version string // of the object that the outcome's change was made for
	}{
		"Update": {
			reason: "an update is made to what is there now", live: live, desired: list(desired), verb: "update", times: 1, err: conflict,
			want: []string{"update@7", "get", "patch"}, version: "9",
		},
		"Delete": {
			reason: "what was just read is deleted in whatever version", live: live, verb: "delete", times: 1, err: conflict,
			want: []string{"delete@7 uid-of-a", "get", "delete uid-of-a"}, version: "9",
		},
		"Twice": {
			reason: "another writer may be faster more than once", live: live, verb: "delete", times: 2, err: conflict,
			want: []string{"delete@7 uid-of-a", "get", "delete uid-of-a", "get", "delete uid-of-a"}, version: "9",
		},
		"Lost": {
			reason: "what is no longer ours is left alone", live: live, verb: "delete", times: 1, err: conflict, refuse: true,
			want: []string{"delete@7 uid-of-a", "get"}, failure: FailureConflict, version: "7",
		},
		"Gone": {
			reason: "what is gone is deleted", verb: "delete", times: 1, err: conflict,
			want: []string{"delete@7 uid-of-a", "get"}, version: "7",
		},
		"Another": {
			reason: "another object of the name is not deleted in its place", live: another, verb: "delete", times: 1, err: conflict,
			want: []string{"delete@7 uid-of-a", "get"}, version: "7",
		},
		"AnotherToUpdate": {
			reason: "nor updated", live: another, desired: list(desired), verb: "update", times: 1, err: conflict,
			want: []string{"update@7", "get"}, failure: FailureConflict, version: "7",
		},
		"Contested": {
			reason: "fields of others are no matter of versions", live: live, desired: list(desired), verb: "update", times: 1, err: contested,
			want: []string{"update@7"}, failure: FailureFieldConflict, version: "7",
		},
		"Refused": {
			reason: "neither is anything else", live: live, desired: list(desired), verb: "update", times: 1, err: apierrors.NewBadRequest("no"),
			want: []string{"update@7"}, failure: FailureInvalid, version: "7",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			changes, err := Diff(Input{Owner: owner, Observed: list(observed), Desired: tc.desired, Rules: []Rule{podRule}})
			if err != nil {
				t.Fatal(err)
			}
			client := cluster()
			if tc.live != nil {
				client = cluster(tc.live.DeepCopy())
			}
			conflicts(client, tc.verb, tc.times, tc.err)
			result := Execute(t.Context(), client, changes, Options{Renew: func(_ Change, live *unstructured.Unstructured) (*Change, error) {
				again, err := Diff(Input{Owner: owner, Observed: list(live), Desired: tc.desired, Rules: []Rule{podRule}})
				if err != nil || tc.refuse {
					return nil, err
				}
				return &again[0], nil
			}})[0]
			if got := Classify(result.Err); got != tc.failure {
				t.Errorf("%s: it ends as %q (%v), want %q", tc.reason, got, result.Err, tc.failure)
			}
			if got := result.Change.Observed.GetResourceVersion(); got != tc.version {
				t.Errorf("%s: the outcome is of version %s, want %s", tc.reason, got, tc.version)
			}
			if diff := cmp.Diff(tc.want, describeRequests(client)); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestExecuteRenewsAdoption checks that what was adopted in a newer version is not written as it was in the older one.
func TestExecuteRenewsAdoption(t *testing.T) {
	orphaned := func(u *unstructured.Unstructured) { u.SetOwnerReferences(nil) }
	observed := stored(t, object(podRule, "a"), orphaned)
	live := stored(t, object(podRule, "a"), orphaned, spec("theirs", "kept"), func(u *unstructured.Unstructured) { u.SetResourceVersion("9") })
	input := Input{Owner: owner, Observed: list(observed), Desired: list(object(podRule, "a", spec("x", "1"))), Rules: []Rule{podRule}}
	changes, err := Diff(input)
	if err != nil {
		t.Fatal(err)
	}
	client := cluster(live.DeepCopy())
	conflicts(client, "patch", 1, apierrors.NewConflict(podRule.Resource.GroupResource(), "a", errBoom))
	for _, o := range Execute(t.Context(), client, append([]Change{Adopt(observed, owner, podRule.Resource)}, changes...), Options{
		Renew: func(change Change, live *unstructured.Unstructured) (*Change, error) {
			if change.Action == ActionAdopt {
				adoption := Adopt(live, owner, podRule.Resource)
				return &adoption, nil
			}
			input.Observed = list(live)
			again, err := Diff(input)
			return &again[0], err
		},
	}) {
		if o.Err != nil {
			t.Error(o.Err)
		}
	}
	after, err := client.Resource(podRule.Resource).Namespace("default").Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"theirs": "kept", "x": "1"}, after.Object["spec"]); diff != "" {
		t.Errorf("(-want, +got):\n%s", diff)
	}
	if len(after.GetOwnerReferences()) != 1 {
		t.Errorf("owners are %v", after.GetOwnerReferences())
	}
}

// TestWritesUnderWayEnd checks that a write which has begun is not given up when the context ends.
func TestWritesUnderWayEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	results := Execute(ctx, ending{cancel: cancel}, creations(2), Options{})
	if results[0].Err != nil || !errors.Is(results[1].Err, context.Canceled) {
		t.Errorf("the writes end with %v and %v, want the first done and the second not begun", results[0].Err, results[1].Err)
	}
}

// ending is a client in the midst of whose creations the caller's context ends.
type ending struct {
	dynamic.Interface
	dynamic.NamespaceableResourceInterface
	cancel context.CancelFunc
}

func (e ending) Resource(schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return e
}

func (e ending) Namespace(string) dynamic.ResourceInterface { return e }

func (e ending) Create(ctx context.Context, u *unstructured.Unstructured, _ metav1.CreateOptions, _ ...string) (*unstructured.Unstructured, error) {
	e.cancel()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("given up: %w", err)
	}
	return u, nil
}
