package capture

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/merge"
	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// redaction takes out of objects what is secret, and what only a cluster needs.
type redaction struct {
	secrets []string
	masker  *jsonvalue.Masker
	// parts hides the secrets that are no words, which are hidden in scripts and names of fields too.
	parts *jsonvalue.Masker
	// repeats are the objects with scripts in which a word that is a secret is left.
	repeats map[string]bool
	// redacted are the objects of which something was hidden.
	redacted map[string]bool
}

// newRedaction finds all secrets.
func newRedaction(ctx context.Context, cases []Case) *redaction {
	r := &redaction{redacted: map[string]bool{}, repeats: map[string]bool{}}
	for _, c := range cases {
		r.secrets = append(r.secrets, c.Subject.Secrets(ctx, c.Reading.All())...)
	}
	r.masker = jsonvalue.NewMasker(r.secrets)
	r.parts = jsonvalue.NewMasker(slices.DeleteFunc(slices.Clone(r.secrets), isWord))
	return r
}

func (r *redaction) mask(text string) string { return r.masker.Mask(text) }

// isWord reports whether a text has letters alone: as part of a script it may be an identifier.
func isWord(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsLetter(c) })
}

// problems tells where a secret may be left.
func (r *redaction) problems() []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(r.repeats)) {
		all = append(all, name+" repeats a word that is also the value of a Secret or a password, as a part of a text: "+
			"it was left, because the script may need it. Read it before you share the file")
	}
	return all
}

// notes tells what was hidden.
func (r *redaction) notes() []string {
	if len(r.redacted) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Redacted to %s, with the keys kept: %s.", jsonvalue.Hidden,
		strings.Join(slices.Sorted(maps.Keys(r.redacted)), ", "))}
}

// source returns a definition or a ConfigMap with scripts as an author has it. In scripts, secrets that are words are hidden
// where they are all of a string, and others everywhere.
func (r *redaction) source(object *unstructured.Unstructured) *unstructured.Unstructured {
	clean := object.DeepCopy()
	delete(clean.Object, "status")
	meta, _ := clean.Object["metadata"].(map[string]any)
	for name := range meta {
		if !slices.Contains([]string{"name", "namespace", "labels", "annotations"}, name) {
			delete(meta, name)
		}
	}
	dropAnnotations(clean, kubectlApplied)
	hidden, _ := r.maskNames(jsonvalue.MapStrings(clean.Object, r.maskSource)).(map[string]any)
	for _, field := range []string{"apiVersion", "kind"} {
		hidden[field] = clean.Object[field]
	}
	jsonvalue.MapStrings(hidden, func(text string) string {
		if r.mask(text) != r.parts.Mask(text) {
			r.repeats[apply.KeyOf(object).String()] = true
		}
		return text
	})
	if !jsonvalue.Equal(hidden, clean.Object) {
		r.redacted[apply.KeyOf(object).String()] = true
	}
	return &unstructured.Unstructured{Object: hidden}
}

// maskSource hides secrets in a text that may be a script.
func (r *redaction) maskSource(text string) string {
	if slices.Contains(r.secrets, text) {
		return jsonvalue.Hidden
	}
	for _, secret := range r.secrets {
		for _, quote := range []string{`"`, `'`, "`"} {
			text = strings.ReplaceAll(text, quote+secret+quote, quote+jsonvalue.Hidden+quote)
		}
	}
	return r.parts.Mask(text)
}

// maskNames returns a value in which secrets are hidden in the names of fields.
func (r *redaction) maskNames(value any) any {
	return jsonvalue.Map(value, func(value any) (any, bool) {
		fields, isObject := value.(map[string]any)
		if !isObject {
			return value, false
		}
		next := make(map[string]any, len(fields))
		for name, field := range fields {
			next[r.parts.Mask(name)] = field
		}
		return next, false
	})
}

const kubectlApplied = "kubectl.kubernetes.io/last-applied-configuration"

func dropAnnotations(object *unstructured.Unstructured, names ...string) {
	annotations := object.GetAnnotations()
	for _, name := range names {
		delete(annotations, name)
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	object.SetAnnotations(annotations)
}

// objects returns the objects of a case as it begins with them.
func (r *redaction) objects(ctx context.Context, c Case) []*unstructured.Unstructured {
	owners := map[types.UID]bool{}
	for _, object := range c.Reading.Objects {
		for _, owner := range object.GetOwnerReferences() {
			owners[owner.UID] = true
		}
		owners[types.UID(object.GetLabels()["controller-uid"])] = true
	}
	find := func(kind schema.GroupVersionKind) *openapi.Kind { return c.Subject.Schemas.For(ctx, kind) }
	var all []*unstructured.Unstructured
	for _, object := range c.Reading.Objects {
		clean := r.object(object, find)
		if owners[object.GetUID()] {
			clean.SetUID(object.GetUID())
		}
		all = append(all, clean)
	}
	return all
}

// object returns an object without UID and secrets.
func (r *redaction) object(object *unstructured.Unstructured, find func(schema.GroupVersionKind) *openapi.Kind) *unstructured.Unstructured {
	clean := object.DeepCopy()
	meta, _ := clean.Object["metadata"].(map[string]any)
	for _, name := range []string{"uid", "resourceVersion", "managedFields", "selfLink"} {
		delete(meta, name)
	}
	if clean.GetGeneration() == 1 {
		delete(meta, "generation")
	}
	dropAnnotations(clean, kubectlApplied)
	if jsonvalue.IsSecret(clean.Object) {
		dropAnnotations(clean, merge.LastApplied) // It repeats the values.
		for name := range clean.GetAnnotations() {
			if strings.HasPrefix(name, merge.AppliedPrefix) {
				dropAnnotations(clean, name) // It is a hash of the values, by which guesses can be tried.
			}
		}
	}
	visible, _ := stage.HideSecrets(clean.Object, find).(map[string]any)
	hidden, _ := r.maskNames(jsonvalue.MapStrings(visible, r.mask)).(map[string]any)
	named, _ := hidden["metadata"].(map[string]any)
	for _, field := range []string{
		"name", "namespace", "generateName", "ownerReferences", "finalizers", "creationTimestamp", "deletionTimestamp",
	} {
		if meta[field] != nil {
			named[field] = meta[field]
		}
	}
	hidden["kind"], hidden["apiVersion"] = object.GetKind(), object.GetAPIVersion()
	if jsonvalue.IsSecret(object.Object) || !jsonvalue.Equal(hidden, clean.Object) {
		r.redacted[apply.KeyOf(object).String()] = true
	}
	return &unstructured.Unstructured{Object: hidden}
}

// Minimal returns what takes the place of a CustomResourceDefinition that can't be read: nothing is defaulted, pruned or validated.
func Minimal(kind schema.GroupVersionKind, plural string, namespaced, hasStatus bool) *unstructured.Unstructured {
	scope, subresources := "Cluster", map[string]any{}
	if namespaced {
		scope = "Namespaced"
	}
	if hasStatus {
		subresources["status"] = map[string]any{}
	}
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"spec": map[string]any{
			"group": kind.Group, "scope": scope,
			"names": map[string]any{"kind": kind.Kind, "plural": plural, "singular": strings.ToLower(kind.Kind), "listKind": kind.Kind + "List"},
			"versions": []any{map[string]any{
				"name": kind.Version, "served": true, "storage": true, "subresources": subresources,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
	crd.SetName(schema.GroupResource{Group: kind.Group, Resource: plural}.String())
	return crd
}

// Definition returns a CustomResourceDefinition as an author has it.
func Definition(crd *unstructured.Unstructured) *unstructured.Unstructured {
	clean := &unstructured.Unstructured{Object: map[string]any{"spec": crd.Object["spec"]}}
	clean.SetGroupVersionKind(crd.GroupVersionKind())
	clean.SetName(crd.GetName())
	return clean
}

// IsBuiltIn reports whether tests know a resource without a CustomResourceDefinition.
func IsBuiltIn(resource discovery.Resource) bool {
	return slices.ContainsFunc(memcluster.BuiltIn(), func(r memcluster.Resource) bool { return r.Kind == resource.Kind })
}
