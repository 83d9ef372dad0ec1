package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	clienttesting "k8s.io/client-go/testing"

	"github.com/libretto-k8s/libretto/runtime/values/objectjson"
)

// TestFieldPatch applies patches to versions of the object that are newer than the one they were made for.
func TestFieldPatch(t *testing.T) {
	cases := map[string]struct{ reason, from, to, now, want string }{
		"Same":      {"Nothing else has changed.", `{"a":1}`, `{"a":2}`, `{"a":1}`, `{"a":2}`},
		"Beside":    {"Other fields are others'.", `{"m":{"a":"1","o":"1"}}`, `{"m":{"a":"2","o":"1"}}`, `{"m":{"a":"1","o":"7"}}`, `{"m":{"a":"2","o":"7"}}`},
		"Taken":     {"The field is not what it was.", `{"a":1}`, `{"a":2}`, `{"a":3}`, ``},
		"Added":     {"A field that was not there.", `{}`, `{"m":{"a":1}}`, `{"o":1}`, `{"m":{"a":1},"o":1}`},
		"AddedToo":  {"Another writer has added it.", `{}`, `{"m":{"a":1}}`, `{"m":{"o":1}}`, ``},
		"Removed":   {"A field that goes.", `{"m":{"a":1}}`, `{"m":{}}`, `{"m":{"a":1,"o":1}}`, `{"m":{"o":1}}`},
		"RemovedIn": {"It is not what it was.", `{"m":{"a":1}}`, `{"m":{}}`, `{"m":{"a":2}}`, ``},
		"List":      {"Lists are replaced.", `{"l":[1,2]}`, `{"l":[1,3]}`, `{"l":[1,2],"o":1}`, `{"l":[1,3],"o":1}`},
		"Grown":     {"What was added to a list is not lost.", `{"l":[1,2]}`, `{"l":[1,3]}`, `{"l":[1,2,4]}`, ``},
		"Null":      {"Null is a value.", `{"a":"x"}`, `{"a":null}`, `{"a":"x"}`, `{"a":null}`},
		"Names":     {"Names are escaped.", `{"x.y/z~1":"a"}`, `{"x.y/z~1":"<b>"}`, `{"x.y/z~1":"a"}`, `{"x.y/z~1":"<b>"}`},
		"Exact":     {"Integers are exact.", `{"a":9007199254740993}`, `{"a":9007199254740995}`, `{"a":9007199254740993}`, `{"a":9007199254740995}`},
		"Kind":      {"An object in place of a text.", `{"a":"x"}`, `{"a":{"b":1}}`, `{"a":"x"}`, `{"a":{"b":1}}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := fieldPatch{}
			p.change("", parsed(t, tc.from), parsed(t, tc.to))
			text, err := objectjson.Marshal(p.operations)
			if err != nil {
				t.Fatal(err)
			}
			operations, err := jsonpatch.DecodePatch(text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := operations.Apply([]byte(tc.now))
			if tc.want == "" {
				if err == nil {
					t.Errorf("%s: it fits: %s", tc.reason, got)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v: %s", tc.reason, err, text)
			}
			if diff := cmp.Diff(parsed(t, tc.want), parsed(t, string(got))); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// TestUpdateOfContendedObject has another writer change an object between each reading and the write that follows.
func TestUpdateOfContendedObject(t *testing.T) {
	resource := podRule.Resource.GroupResource()
	conflict := apierrors.NewConflict(resource, "a", errBoom)
	misfit := apierrors.NewGenericServerResponse(422, "", schema.GroupResource{}, "", "", 0, false)
	invalid := apierrors.NewInvalid(podRule.Kind.GroupKind(), "a", nil)
	cases := map[string]struct {
		reason  string
		patches []error
		want    []string
		failure Failure
	}{
		"Beside":    {"An update is patched, whatever others write beside it.", nil, []string{"update@7", "get", "patch"}, FailureNone},
		"Same":      {"They write the same fields.", []error{misfit, misfit}, []string{"update@7", "get", "patch", "get", "patch", "get", "patch"}, FailureNone},
		"Forbidden": {"The host may update but not patch.", []error{apierrors.NewForbidden(resource, "a", nil)}, []string{"update@7", "get", "patch", "update@9"}, FailureNone},
		"Refused":   {"What is refused is not tried again.", []error{invalid}, []string{"update@7", "get", "patch"}, FailureInvalid},
		"Endless": {"There is an end.", []error{conflict, conflict, conflict, conflict, conflict, conflict},
			[]string{"update@7", "get", "patch", "get", "patch", "get", "patch", "get", "patch", "get", "patch"}, FailureConflict},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			desired := list(object(podRule, "a", spec("x", "1")))
			client := cluster(stored(t, object(podRule, "a"), func(u *unstructured.Unstructured) { u.SetResourceVersion("9") }))
			conflicts(client, "update", 1, conflict)
			client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
				var operations []map[string]any
				if err := json.Unmarshal(action.(clienttesting.PatchAction).GetPatch(), &operations); err != nil {
					t.Fatal(err)
				}
				if len(operations) < 4 || operations[0]["path"] != "/metadata/uid" || operations[2]["path"] != "/metadata/ownerReferences" {
					t.Errorf("the patch does not test whose the object is: %v", operations)
				}
				if len(tc.patches) == 0 {
					return false, nil, nil
				}
				err := tc.patches[0]
				tc.patches = tc.patches[1:]
				return true, nil, err
			})
			renew := func(_ Change, live *unstructured.Unstructured) (*Change, error) {
				again, err := Diff(Input{Owner: owner, Observed: list(live), Desired: desired, Rules: []Rule{podRule}})
				return &again[0], err
			}
			changes, err := Diff(Input{Owner: owner, Observed: list(stored(t, object(podRule, "a"))), Desired: desired, Rules: []Rule{podRule}})
			if err != nil {
				t.Fatal(err)
			}
			result := Execute(t.Context(), client, changes, Options{Renew: renew})[0]
			if got := Classify(result.Err); got != tc.failure {
				t.Errorf("%s: it ends as %q (%v), want %q", tc.reason, got, result.Err, tc.failure)
			}
			if diff := cmp.Diff(tc.want, describeRequests(client)); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
}
