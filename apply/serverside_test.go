package apply

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/apply/applytest"
	"github.com/libretto-k8s/libretto/apply/fielddiff"
	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/apply/serverside"
)

var ours = serverside.Managers{Own: serverside.ManagerName("libretto", "composite", "web"), Former: []string{"libretto"}}

// serverSide returns rule for server-side apply.
func serverSide(rule Rule, method Method) Rule {
	rule.Method, rule.Strategy, rule.Managers, rule.Force = method, ServerSideApply, ours, true
	return rule
}

// held returns the object that applying desired leaves in the API server. What the
// manager holds is written by hand, as JSON.
func held(t testing.TB, desired *unstructured.Unstructured, fields string, edits ...edit) *unstructured.Unstructured {
	t.Helper()
	u := serverside.NewConfiguration(desired, ownedBy(desired, owner), ours.Own, nil).Object("", "7").DeepCopy()
	u.SetUID(types.UID("uid-of-" + u.GetName()))
	record := applytest.Parse(t, []byte(`{"f:metadata": {"f:annotations": {"f:`+serverside.AppliedAnnotation(ours.Own)+`": {}}, "f:ownerReferences": {"k:{\"uid\":\"owner-uid\"}": {}}}}`)).Object
	record = serverside.Union(record, applytest.Parse(t, []byte(fields)).Object)
	u.Object["metadata"].(map[string]any)["managedFields"] = []any{
		map[string]any{"manager": "somebody", "operation": "Update", "apiVersion": "v1", "fieldsV1": map[string]any{"f:spec": map[string]any{"f:theirs": map[string]any{}}}},
		map[string]any{"manager": ours.Own, "operation": "Apply", "apiVersion": u.GetAPIVersion(), "fieldsV1": record},
	}
	for _, e := range edits {
		e(u)
	}
	return u
}

func marked(u *unstructured.Unstructured) {
	annotations := u.GetAnnotations()
	delete(annotations, serverside.AppliedAnnotation(ours.Own))
	u.SetAnnotations(annotations)
}

func remembers(text string) edit {
	return func(u *unstructured.Unstructured) { u.SetAnnotations(map[string]string{merge.LastApplied: text}) }
}

func unmanagedBy(u *unstructured.Unstructured) { u.SetManagedFields(nil) }

func TestServerSideChange(t *testing.T) {
	desired := object(podRule, "a", spec("x", "1"), spec("list", []any{"a"}))
	whole := `{"f:spec": {"f:x": {}, "f:list": {}}}`
	dynamic := by(podRule, InPlace)
	dynamic.Managers = ours
	cases := map[string]struct {
		reason   string
		rule     Rule
		observed *unstructured.Unstructured
		desired  *unstructured.Unstructured
		// want is the action and what is taken over or left.
		want string
	}{
		"Create":         {reason: "what is not there is created by applying it", rule: serverSide(podRule, InPlace), want: "Create applied"},
		"CreateOnDelete": {reason: "creating is up to no method", rule: serverSide(podRule, OnDelete), want: "Create applied"},
		"Same":           {reason: "what was applied and is still held is not applied again", rule: serverSide(podRule, InPlace), observed: held(t, desired, whole)},
		"OtherWords": {
			reason: "the API server may write down what was asked for in other words", rule: serverSide(podRule, InPlace),
			observed: held(t, desired, whole, spec("x", int64(1)), spec("list", []any{map[string]any{"a": "default"}})),
		},
		"Foreign": {
			reason: "fields of others are no difference", rule: serverSide(podRule, InPlace),
			observed: held(t, desired, whole, spec("theirs", "1")),
		},
		"Lost": {
			reason: "who sets a field to something else holds it, and it is taken back", rule: serverSide(podRule, InPlace),
			observed: held(t, desired, `{"f:spec": {"f:list": {}}}`, spec("x", "theirs")), want: "Update applied",
		},
		"LostRecreate": {
			reason: "another value is a reason to recreate", rule: serverSide(podRule, Recreate),
			observed: held(t, desired, `{"f:spec": {"f:list": {}}}`, spec("x", "theirs")), want: "Recreate",
		},
		"OnlyLostRecreate": {
			reason: "who holds a field is no reason to recreate", rule: serverSide(podRule, Recreate),
			observed: held(t, desired, `{"f:spec": {"f:list": {}}}`), want: "Update applied",
		},
		"LostOnDelete": {
			reason: "an object that waits to be deleted is left alone", rule: serverSide(podRule, OnDelete),
			observed: held(t, desired, `{"f:spec": {"f:list": {}}}`, spec("x", "theirs")),
		},
		"Deleting": {
			reason: "what is being deleted is waited for", rule: serverSide(podRule, InPlace),
			observed: held(t, desired, `{"f:spec": {"f:list": {}}}`, deleting),
		},
		"Changed": {
			reason: "another wish is applied", rule: serverSide(podRule, InPlace), observed: held(t, desired, whole),
			desired: object(podRule, "a", spec("x", "2"), spec("list", []any{"a"})), want: "Update applied",
		},
		"Removed": {
			reason: "what is no longer asked for is let go of", rule: serverSide(podRule, InPlace), observed: held(t, desired, whole),
			desired: object(podRule, "a", spec("list", []any{"a"})), want: "Update applied",
		},
		"RemovedRecreate": {
			reason: "what is no longer asked for is a reason to recreate", rule: serverSide(podRule, Recreate), observed: held(t, desired, whole),
			desired: object(podRule, "a", spec("list", []any{"a"})), want: "Recreate",
		},
		"Null": {
			reason: "a null is no wish", rule: serverSide(podRule, InPlace), observed: held(t, desired, whole),
			desired: object(podRule, "a", spec("x", "1"), spec("list", []any{"a"}), spec("none", nil)),
		},
		"HandedBack": {
			reason: "a hook may give back what it was given, the mark included", rule: serverSide(podRule, InPlace),
			observed: held(t, desired, whole), desired: held(t, desired, whole, unmanagedBy),
		},
		"Unmarked": {
			reason: "the mark is written again", rule: serverSide(podRule, InPlace),
			observed: held(t, desired, whole, marked), want: "Update applied",
		},
		"UnmarkedRecreate": {
			reason: "where nobody knows the words, other words are no reason to recreate", rule: serverSide(podRule, Recreate),
			observed: held(t, desired, whole, marked, spec("list", []any{"a"})), want: "Update applied",
		},
		"Dynamic": {
			reason: "what was merged before is taken over", rule: serverSide(podRule, InPlace), observed: stored(t, desired), want: "Update applied over libretto",
		},
		"DynamicRecreate": {
			reason: "another strategy is no reason to recreate", rule: serverSide(podRule, Recreate), observed: stored(t, desired), want: "Update applied over libretto",
		},
		"Foreigner": {
			reason: "what somebody else has made and we own is taken over", rule: serverSide(podRule, InPlace),
			observed: held(t, desired, whole, unmanagedBy), want: "Update applied over libretto",
		},
		"HalfTaken": {
			reason: "what was not taken over to the end is taken over", rule: serverSide(podRule, InPlace),
			observed: held(t, desired, whole, remembers("{}")), want: "Update applied over libretto",
		},
		"Back": {
			reason: "dynamic apply takes the object back", rule: dynamic, observed: held(t, desired, whole), want: "Update leaves",
		},
		"BackRecreate": {
			reason: "going back is no reason to recreate, whatever the words", rule: func() Rule { r := dynamic; r.Method = Recreate; return r }(),
			observed: held(t, desired, whole, spec("list", []any{"a"})), want: "Update leaves",
		},
		"BackChangedRecreate": {
			reason: "going back, another value is a reason to recreate", rule: func() Rule { r := dynamic; r.Method = Recreate; return r }(),
			observed: held(t, desired, whole), desired: object(podRule, "a", spec("x", "2")), want: "Recreate",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := Input{Owner: owner, Rules: []Rule{tc.rule}, Desired: list(desired)}
			if tc.desired != nil {
				in.Desired = list(tc.desired)
			}
			if tc.observed != nil {
				in.Observed = list(tc.observed)
			}
			changes, err := Diff(in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, manner(changes)); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// manner tells how a change is written.
func manner(changes []Change) string {
	var words []string
	for _, c := range changes {
		words = append(words, string(c.Action))
		if c.ServerSide != nil {
			words = append(words, "applied")
			if c.ServerSide.TakeOver != nil {
				words = append(words, "over", strings.Join(c.ServerSide.TakeOver, ","))
			}
		}
		if c.Leaves != "" {
			words = append(words, "leaves")
		}
	}
	return strings.Join(words, " ")
}

// TestServerSideObject checks what is sent, byte by byte.
func TestServerSideObject(t *testing.T) {
	desired := object(podRule, "a", spec("x", "1"), spec("none", nil), spec("list", []any{map[string]any{"n": nil, "y": int64(1)}}), func(u *unstructured.Unstructured) {
		u.Object["status"] = map[string]any{"x": "1"}
		u.SetOwnerReferences([]metav1.OwnerReference{{Kind: "Other", Name: "o", UID: "other"}, {Kind: "Gone", UID: "gone", Controller: new(true)}})
	})
	changes, err := Diff(Input{Owner: owner, Rules: []Rule{serverSide(podRule, InPlace)}, Desired: list(desired)})
	if err != nil {
		t.Fatal(err)
	}
	got, err := changes[0].Object.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	mark := serverside.Applied(changes[0].Object.Object, ours.Own)
	want := `{"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"` + serverside.AppliedAnnotation(ours.Own) + `":"` + mark + `"},"name":"a","namespace":"default","ownerReferences":[` +
		`{"apiVersion":"","kind":"Other","name":"o","uid":"other"},{"apiVersion":"example.com/v1","blockOwnerDeletion":true,"controller":true,"kind":"Web","name":"web","uid":"owner-uid"}],` +
		`"resourceVersion":"` + absent + `"},"spec":{"list":[{"y":1}],"x":"1"}}` + "\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want, +got):\n%s", diff)
	}
}

// TestServerSideDiffs checks that messages name fields and not bookkeeping.
func TestServerSideDiffs(t *testing.T) {
	desired := object(podRule, "a", spec("x", "2"))
	observed := held(t, object(podRule, "a", spec("x", "1"), spec("gone", "1")), `{"f:spec": {"f:x": {}, "f:gone": {}}}`, spec("theirs", "1"))
	changes, err := Diff(Input{Owner: owner, Rules: []Rule{serverSide(podRule, InPlace)}, Observed: list(observed), Desired: list(desired)})
	if err != nil {
		t.Fatal(err)
	}
	want := []fielddiff.Diff{{Path: "spec.gone", From: `"1"`}, {Path: "spec.x", From: `"1"`, To: `"2"`}}
	if diff := cmp.Diff(want, changes[0].Diffs(), cmpopts.IgnoreUnexported(fielddiff.Diff{})); diff != "" {
		t.Errorf("(-want, +got):\n%s", diff)
	}
}
