package mapping

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestKeyOf(t *testing.T) {
	long := strings.Repeat("n", 253)
	cases := map[string]struct{ reason, input, key, label string }{
		"Core":       {"The core group has no name. The label is part of the contract: it must stay what it is.", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: prod}}`, "/ConfigMap/prod/a", "647f7d62cc73924c93b5eb2870bd8c3e"},
		"Group":      {"Any other group stands first, without the version.", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: prod}}`, "apps/Deployment/prod/a", ""},
		"Version":    {"Another version is the same input.", `{apiVersion: apps/v1beta1, kind: Deployment, metadata: {name: a, namespace: prod}}`, "apps/Deployment/prod/a", ""},
		"Cluster":    {"What is in no namespace has none.", `{apiVersion: v1, kind: Node, metadata: {name: n1}}`, "/Node//n1", ""},
		"Re-created": {"An object made anew is the same input.", `{apiVersion: v1, kind: Node, metadata: {name: n1, uid: u2, resourceVersion: "7"}}`, "/Node//n1", ""},
		"Dots":       {"Names may have dots and colons.", `{apiVersion: v1, kind: Node, metadata: {name: "a.b:c"}}`, "/Node//a.b:c", ""},
		"Long":       {"A name that is too long for a label fits.", `{apiVersion: v1, kind: Node, metadata: {name: ` + long + `}}`, "/Node//" + long, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			key := keyOf(object(t, tc.input))
			if string(key) != tc.key {
				t.Errorf("%s\nkey %q, want %q", tc.reason, key, tc.key)
			}
			if problems := validation.IsValidLabelValue(key.label()); problems != nil {
				t.Errorf("%s\nthe label %q: %v", tc.reason, key.label(), problems)
			}
			if tc.label != "" && key.label() != tc.label {
				t.Errorf("%s\nlabel %q, want %q", tc.reason, key.label(), tc.label)
			}
		})
	}
}

func TestKeysDiffer(t *testing.T) {
	cases := map[string]struct{ reason, one, other string }{
		"Namespace": {"Namespaces count.", `{kind: A, metadata: {name: x, namespace: one}}`, `{kind: A, metadata: {name: x, namespace: two}}`},
		"Kind":      {"Kinds count.", `{kind: A, metadata: {name: x}}`, `{kind: B, metadata: {name: x}}`},
		"Group":     {"Groups count.", `{apiVersion: a/v1, kind: A, metadata: {name: x}}`, `{apiVersion: b/v1, kind: A, metadata: {name: x}}`},
		"LastByte":  {"So does the end of a long name.", `{kind: A, metadata: {name: ` + strings.Repeat("n", 252) + `a}}`, `{kind: A, metadata: {name: ` + strings.Repeat("n", 252) + `b}}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			one, other := keyOf(object(t, tc.one)), keyOf(object(t, tc.other))
			if one == other || one.label() == other.label() {
				t.Errorf("%s\n%q and %q are alike", tc.reason, one, other)
			}
		})
	}
}

func TestKeyFrom(t *testing.T) {
	label := mapKey("/ConfigMap/prod/a").label()
	cases := map[string]struct{ reason, output, want, namespace string }{
		"Both":    {"The annotation is the readable form of the label.", `{metadata: {labels: {metacontroller.k8s.io/map-key: ` + label + `}, annotations: {metacontroller.k8s.io/map-key: /ConfigMap/prod/a}}}`, "/ConfigMap/prod/a", "prod"},
		"NoText":  {"Without the annotation the label has to do.", `{metadata: {labels: {metacontroller.k8s.io/map-key: ` + label + `}}}`, label, ""},
		"Changed": {"A changed annotation is ignored.", `{metadata: {labels: {metacontroller.k8s.io/map-key: ` + label + `}, annotations: {metacontroller.k8s.io/map-key: /ConfigMap/prod/b}}}`, label, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			key := keyFrom(object(t, tc.output))
			if string(key) != tc.want || key.namespace() != tc.namespace {
				t.Errorf("%s\nkey %q in namespace %q, want %q in %q", tc.reason, key, key.namespace(), tc.want, tc.namespace)
			}
		})
	}
}

func TestClaim(t *testing.T) {
	cases := map[string]struct {
		reason, child string
		want          bool
	}{
		"Own":       {"An output has the map key and the definition's name.", `{metadata: {labels: {metacontroller.k8s.io/map-key: abc}, annotations: {metacontroller.k8s.io/map-controller: copies}}}`, true},
		"OfAnother": {"Another map's output for the same parent is none of ours.", `{metadata: {labels: {metacontroller.k8s.io/map-key: abc}, annotations: {metacontroller.k8s.io/map-controller: other}}}`, false},
		"NoName":    {"The map key alone is not enough.", `{metadata: {labels: {metacontroller.k8s.io/map-key: abc}}}`, false},
		"NoLabel":   {"An output that has lost its label is known by its annotation.", `{metadata: {annotations: {metacontroller.k8s.io/map-controller: copies, metacontroller.k8s.io/map-key: /Node//n1}}}`, true},
		"NoKey":     {"What has no map key is no output.", `{metadata: {annotations: {metacontroller.k8s.io/map-controller: copies}}}`, false},
		"EmptyKey":  {"An empty map key is none.", `{metadata: {labels: {metacontroller.k8s.io/map-key: ""}, annotations: {metacontroller.k8s.io/map-controller: copies}}}`, false},
		"Unmarked":  {"A composite's child is no output.", `{metadata: {labels: {app: web}}}`, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			claim, err := newVariant(t, allHooks).Claim(object(t, namespacedParent))
			if err != nil || claim.Selector != nil {
				t.Fatalf("a map neither adopts nor releases: want no selector, got %v (%v)", claim.Selector, err)
			}
			if got := claim.Marked(object(t, tc.child)); got != tc.want {
				t.Errorf("%s\ngot %t", tc.reason, got)
			}
		})
	}
}

func TestWithMarks(t *testing.T) {
	key := mapKey("/Node//n1")
	given := object(t, `{kind: Pod, metadata: {name: a, labels: {app: web, metacontroller.k8s.io/map-key: stale}, annotations: {gone: null}}, spec: {x: 1}}`)
	before := given.DeepCopy()
	want := parse(t, `{kind: Pod, metadata: {name: a, labels: {app: web, metacontroller.k8s.io/map-key: `+key.label()+`},
		annotations: {gone: null, metacontroller.k8s.io/map-key: /Node//n1, metacontroller.k8s.io/map-controller: copies}}, spec: {x: 1}}`)
	if diff := cmp.Diff(want, newVariant(t, allHooks).withMarks(given, key, key.label()).Object); diff != "" {
		t.Errorf("an output has both forms of the map key and the definition's name\n-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(before, given); diff != "" {
		t.Errorf("the hook's object was changed:\n%s", diff)
	}
}
