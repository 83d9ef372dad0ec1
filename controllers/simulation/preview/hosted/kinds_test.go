package hosted

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

const decoratorText = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: boxes}
spec:
  resources: [{apiVersion: example.com/v1, resource: boxes}]
  attachments: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]
  hooks:
    sync: {script: {inline: "", engine: JavaScript}}
    finalize: {script: {inline: "", engine: JavaScript}}
`

const mapText = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: MapController
metadata: {name: boxes}
spec:
  parentResource: {apiVersion: example.com/v1, resource: boxes}
  inputResources: [{apiVersion: v1, resource: secrets}]
  outputResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]
  hooks:
    map: {script: {inline: "", engine: JavaScript}}
    tombstone: {script: {inline: "", engine: JavaScript}}
`

// object parses a YAML object.
func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

// listing returns hooks that answer with three ConfigMaps in a field, or with none, named by the object that is in a field of the request.
func listing(about, field string, none bool) func(engines.Call) (any, error) {
	return func(call engines.Call) (any, error) {
		list := []any{}
		name, _, _ := unstructured.NestedString(call.Request, about, "metadata", "name")
		for _, suffix := range three {
			if !none {
				list = append(list, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name + suffix}})
			}
		}
		return map[string]any{field: list}, nil
	}
}

// TestKinds previews edits of decorators and maps that destroy what they have made.
func TestKinds(t *testing.T) {
	box := `{apiVersion: example.com/v1, kind: Box, metadata: {name: b%d, namespace: default}, spec: {selector: {matchLabels: {of: b%d}}}}`
	secret := `{apiVersion: v1, kind: Secret, metadata: {name: s%d, namespace: default, labels: {of: b%d}}}`
	decorating := func(none bool) texts {
		return texts{}.with("sync", listing("object", "attachments", none)).with("finalize", listing("object", "attachments", none))
	}
	mapping := func(none, buried bool) texts {
		keep := func(call engines.Call) (any, error) {
			kept := []any{}
			outputs, _, _ := unstructured.NestedMap(call.Request, "outputs", "ConfigMap.v1")
			for _, output := range outputs {
				kept = append(kept, output)
			}
			return map[string]any{"outputs": kept}, nil
		}
		if buried {
			keep = listing("input", "outputs", true)
		}
		return texts{}.with("map", listing("input", "outputs", none)).with("tombstone", keep)
	}
	deleting := func(all []*unstructured.Unstructured) []*unstructured.Unstructured {
		for _, o := range all {
			if o.GetKind() == "Box" {
				_ = unstructured.SetNestedField(o.Object, "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")
			}
		}
		return all
	}
	withoutInputs := func(all []*unstructured.Unstructured) []*unstructured.Unstructured {
		return slices.DeleteFunc(all, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Secret" })
	}
	same := func(all []*unstructured.Unstructured) []*unstructured.Unstructured { return all }
	for name, c := range map[string]struct {
		reason        string
		definition    string
		serving, next texts
		edit          func([]*unstructured.Unstructured) []*unstructured.Unstructured
		want          scripts.Preview
	}{
		"a decorator": {
			reason: "The same attachments are no harm.", definition: decoratorText, serving: decorating(false), next: decorating(false), edit: same,
			want: scripts.Preview{Summary: "previewed on 2 of 2 parents"},
		},
		"a decorator without attachments": {
			reason: "Attachments count as children.", definition: decoratorText, serving: decorating(false), next: decorating(true), edit: same,
			want: scripts.Preview{Held: "it would delete 6 of 6 children of 2 of 2 parents, first ConfigMap default/b0-0"},
		},
		"a decorator's finalize": {
			reason: "It is called for objects that are being deleted.", definition: decoratorText, edit: deleting,
			serving: decorating(false), next: decorating(false).with("finalize", listing("object", "attachments", true)),
			want: scripts.Preview{Held: "it would delete 6 of 6 children of 2 of 2 parents, first ConfigMap default/b0-0"},
		},
		"a map": {
			reason: "The same outputs are no harm.", definition: mapText, serving: mapping(false, false), next: mapping(false, false), edit: same,
			want: scripts.Preview{Summary: "previewed on 2 of 2 parents"},
		},
		"a map without outputs": {
			reason: "Outputs count as children.", definition: mapText, serving: mapping(false, false), next: mapping(true, false), edit: same,
			want: scripts.Preview{Held: "it would delete 6 of 6 children of 2 of 2 parents, first ConfigMap default/s0-0"},
		},
		"a map's tombstone": {
			reason: "It is called for outputs whose input has gone.", definition: mapText, edit: withoutInputs,
			serving: mapping(false, false), next: mapping(false, true),
			want: scripts.Preview{Held: "it would delete 6 of 6 children of 2 of 2 parents, first ConfigMap default/s0-0"},
		},
		"a map's outputs without inputs": {
			reason: "What the tombstone keeps is no harm.", definition: mapText, edit: withoutInputs,
			serving: mapping(false, false), next: mapping(true, false), want: scripts.Preview{Summary: "previewed on 2 of 2 parents"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []*unstructured.Unstructured
			for i := range 2 {
				objects = append(objects, object(t, fmt.Sprintf(box, i, i)), object(t, fmt.Sprintf(secret, i, i)))
			}
			got := settledOf(t, c.definition, objects, c.serving, c.edit).preview(t, c.next, 100)
			if got.Held != "" {
				got.Summary = ""
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", c.reason, diff)
			}
		})
	}
}

// TestRelatedObjectsThatAreMany has a customize hook ask for more than is copied: nothing is known of such a parent.
func TestRelatedObjectsThatAreMany(t *testing.T) {
	large := strings.Repeat("x", 22<<20)
	asking := func() texts {
		return making("1", three).with("customize", func(engines.Call) (any, error) {
			return map[string]any{"relatedResources": []any{map[string]any{"apiVersion": "v1", "resource": "configmaps", "namespace": "default"}}}, nil
		})
	}
	s := settled(t, "InPlace", script, "customize: {"+script+"}", asking(), 2, func(o *unstructured.Unstructured) {
		if o.GetKind() == "ConfigMap" {
			_ = unstructured.SetNestedField(o.Object, large, "data", "large")
		}
	})
	p := s.preview(t, asking(), 1) // The ConfigMaps of the other parent are no part of the sample.
	if p.Unknown != 1 || !strings.Contains(p.Summary, "the objects that hooks ask for take more than 64 MiB") {
		t.Errorf("%+v", p)
	}
}
