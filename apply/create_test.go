package apply

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply/applytest"
	"github.com/libretto-k8s/libretto/apply/merge"
)

func TestNewObject(t *testing.T) {
	cases := map[string]struct{ reason, desired, want string }{
		"Plain": {
			reason:  "the object is remembered before the owner is added",
			desired: `{"kind":"Web","metadata":{"name":"a"},"spec":{"x":null}}`,
			want: `{"kind":"Web","metadata":{"name":"a",
				"annotations":{"metacontroller.k8s.io/last-applied-configuration":"{\"kind\":\"Web\",\"metadata\":{\"name\":\"a\"},\"spec\":{\"x\":null}}"},
				"ownerReferences":[{"apiVersion":"example.com/v1","kind":"Web","name":"web","uid":"owner-uid","controller":true,"blockOwnerDeletion":true}]},"spec":{"x":null}}`,
		},
		"Echoed": {
			reason: "what the API server keeps is not sent back to it, nor remembered; a status is sent",
			desired: `{"metadata":{"name":"a","uid":"u","resourceVersion":"3","annotations":{"b":"c","metacontroller.k8s.io/last-applied-configuration":"old"},
				"ownerReferences":[{"uid":"owner-uid","name":"stale"},{"uid":"other"}]},"status":{"ready":true}}`,
			want: `{"metadata":{"name":"a",
				"annotations":{"b":"c","metacontroller.k8s.io/last-applied-configuration":"{\"metadata\":{\"annotations\":{\"b\":\"c\"},\"name\":\"a\"}}"},
				"ownerReferences":[{"uid":"other"},{"apiVersion":"example.com/v1","kind":"Web","name":"web","uid":"owner-uid","controller":true,"blockOwnerDeletion":true}]},"status":{"ready":true}}`,
		},
		"NoAnnotations": {
			reason:  "what is wrong is left to the API server to refuse",
			desired: `{"metadata":{"name":"a","annotations":"none"},"status":{"ready":true}}`,
			want: `{"metadata":{"name":"a","annotations":"none",
				"ownerReferences":[{"apiVersion":"example.com/v1","kind":"Web","name":"web","uid":"owner-uid","controller":true,"blockOwnerDeletion":true}]},"status":{"ready":true}}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			desired := applytest.Parse(t, []byte(tc.desired))
			before := desired.DeepCopy()
			got, err := newObject(desired, owner)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(applytest.Parse(t, []byte(tc.want)), got); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, desired); diff != "" {
				t.Errorf("desired was changed (-before, +after):\n%s", diff)
			}
		})
	}
}

// TestAnnotationFits checks that a large object is written once, fits, and is then settled.
func TestAnnotationFits(t *testing.T) {
	many := map[string]any{}
	for _, a := range "abcdefghijklmnopqrstuvwxyz" {
		for _, b := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" {
			many[string(a)+string(b)] = strings.Repeat("v", 300)
		}
	}
	cases := map[string]struct {
		reason, prefix string
		data           map[string]any
		others         int
	}{
		"Small":       {reason: "a small object is remembered as it is", data: map[string]any{"k": "v"}, prefix: `{"apiVersion":"v1","data":{"k":"v"}`},
		"LongText":    {reason: "a long text is remembered by its digest", data: map[string]any{"k": strings.Repeat("v", 300<<10)}, prefix: `{"apiVersion":"v1","data":{"k":"sha256:`},
		"ManyTexts":   {reason: "many texts too", data: many, prefix: `{"apiVersion":"v1","data":{"a0":"sha256:`},
		"ManyFields":  {reason: "too many fields are remembered by one digest", data: many, others: 250 << 10, prefix: `{"apiVersion":"v1","data":"sha256:`},
		"NoRoomAtAll": {reason: "others may leave no room", data: many, others: 255<<10 + 1000},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			desired := object(podRule, "a", func(u *unstructured.Unstructured) {
				u.Object["data"] = tc.data
				u.SetAnnotations(map[string]string{"others": strings.Repeat("o", tc.others)})
			})
			// What else is annotated may come from others, or from the hook.
			got := stored(t, desired)
			annotations := got.GetAnnotations()
			n := 0
			for name, value := range annotations {
				n += len(name) + len(value)
			}
			if n > 256<<10 {
				t.Errorf("%s: %d bytes of annotations", tc.reason, n)
			}
			if text := merge.Annotation(got.Object); !strings.HasPrefix(text, tc.prefix) || (text == "") != (tc.prefix == "") {
				t.Errorf("%s: got %.80s", tc.reason, text)
			}
			if again, err := merge.Merge(nil, got, desired); err != nil || again.Object != got {
				t.Errorf("%s: not settled: %v", tc.reason, err)
			}
		})
	}
}

// TestRemovalUnderDigest checks that fields go even where their texts were too long to remember.
func TestRemovalUnderDigest(t *testing.T) {
	long := strings.Repeat("v", 200<<10)
	data := func(v map[string]any) edit {
		return func(u *unstructured.Unstructured) { u.Object["data"] = v }
	}
	observed := stored(t, object(podRule, "a", data(map[string]any{"keep": long, "drop": long})))
	merged, err := merge.Merge(nil, observed, object(podRule, "a", data(map[string]any{"keep": long})))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"keep": long}, merged.Object.Object["data"]); diff != "" {
		t.Errorf("(-want, +got):\n%.300s", diff)
	}
	if !json.Valid([]byte(merge.Annotation(merged.Object.Object))) {
		t.Error("the annotation is no JSON")
	}
}
