package controllertest

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/controllers/simulation"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// hideSecrets hides the values of Secrets in all output about the case, and what the schemas of other objects call a password.
func (r *runner) hideSecrets() {
	if r.subject.ShowSecrets || len(r.result.Failures) == 0 && len(r.result.Logs) == 0 {
		return
	}
	masker := r.masker()
	mask := func(lines []string) {
		for i := range lines {
			lines[i] = masker.Mask(lines[i])
		}
	}
	for i := range r.result.Failures {
		f := &r.result.Failures[i]
		f.Message, f.Case = masker.Mask(f.Message), masker.Mask(f.Case)
		mask(f.Diff)
	}
	mask(r.result.Logs)
}

// masker returns what hides the secrets of the case.
func (r *runner) masker() *jsonvalue.Masker { return jsonvalue.NewMasker(r.secrets()) }

// schemaOf returns the schema of a kind, or nil.
func (r *runner) schemaOf(kind schema.GroupVersionKind) *openapi.Kind {
	return r.base.Schemas.For(context.Background(), kind)
}

// secretsIn returns the secrets in an object, or a part of one.
func (r *runner) secretsIn(fields map[string]any) []string {
	object := unstructured.Unstructured{Object: fields}
	kind := object.GroupVersionKind()
	if kind.Kind == "Secret" && kind.Version == "" { // In a test file the apiVersion may be missing.
		fields = jsonvalue.With(fields, "apiVersion", "v1")
	}
	secret := func(jsonvalue.Path) bool { return false }
	if r.base != nil && !jsonvalue.IsSecret(fields) {
		secret = r.schemaOf(kind).Secret
	}
	return jsonvalue.SecretTexts(nil, fields, secret)
}

// keepSecrets notes the secrets in what a pass wrote: they may be gone in the end.
func (r *runner) keepSecrets(result simulation.Result) {
	for _, w := range result.Writes {
		if r.written == nil {
			r.written = map[string]bool{}
		}
		for _, text := range r.secretsIn(w.Sent) {
			r.written[text] = true
		}
	}
}

// secrets returns the secrets in the cluster, in what was written, and in the case.
func (r *runner) secrets() []string {
	all := slices.Collect(maps.Keys(r.written))
	if r.session != nil {
		for _, object := range r.session.Cluster().Snapshot() {
			all = append(all, r.secretsIn(object.Object)...)
		}
	}
	for _, step := range append([]Step{r.testCase.Step}, r.testCase.Steps...) {
		for _, list := range append([][]map[string]any{step.Create, step.Apply}, step.Want.objects()...) {
			for _, fields := range list {
				all = append(all, r.secretsIn(fields)...)
			}
		}
	}
	for _, value := range []any{r.request, r.testCase.Response} {
		all = append(all, jsonvalue.SecretTexts(nil, value, func(jsonvalue.Path) bool { return false })...)
	}
	return all
}

// objects returns the parts of objects.
func (w *Want) objects() [][]map[string]any {
	if w == nil {
		return nil
	}
	return [][]map[string]any{w.Children, w.Attachments, w.Outputs, w.Objects, w.Absent}
}
