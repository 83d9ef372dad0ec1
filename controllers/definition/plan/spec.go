package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// SpecHash is that of the spec.
func (p *Plan) SpecHash() (string, error) {
	return SpecHash(jsonvalue.ObjectIn(p.object.Object, "spec"))
}

// SpecHash returns the SHA-256 of a spec without the scripts, which have a revision, without what is for the host alone, and without what
// says how fast a rolling update goes. All else counts, as hooks are given the definition.
func SpecHash(spec map[string]any) (string, error) {
	spec = jsonvalue.Clone(withoutAny(spec, settingFields))
	hooks := maps.Clone(jsonvalue.ObjectIn(spec, "hooks"))
	for name := range hooks {
		hooks[name], _ = jsonvalue.Without(jsonvalue.ObjectIn(hooks, name), "script")
	}
	spec["hooks"] = hooks
	delete(spec, "scriptSources")
	for _, field := range []string{"childResources", "attachments", "outputResources"} {
		if rules, ok := spec[field].([]any); ok {
			spec[field] = withMethods(rules)
		}
	}
	encoded, err := json.Marshal(spec)
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:]), err
}

// Edit returns what the plan is with a revision of its scripts.
func (p *Plan) Edit(revision string) (rollout.Edit, error) {
	hash, err := p.SpecHash()
	return rollout.Edit{SpecHash: hash, Revision: revision}, err
}

// withMethods returns rules for children of whose updateStrategy only the method is left.
func withMethods(rules []any) []any {
	all := make([]any, 0, len(rules))
	for _, rule := range rules {
		fields := jsonvalue.AsObject(rule)
		method := jsonvalue.ObjectIn(fields, "updateStrategy")["method"]
		all = append(all, jsonvalue.With(fields, "updateStrategy", method))
	}
	return all
}

// MaxStableSpec is how long a spec may be that is kept in the status, beside the one in the object: an object has 1.5 MiB at most.
const MaxStableSpec = 400 << 10

// StableSpec returns the spec as the status keeps it, or nil if it is too long.
func (p *Plan) StableSpec() *v1alpha1.StableSpec {
	encoded, err := json.Marshal(p.object.Object["spec"])
	if err != nil || len(encoded) > MaxStableSpec {
		return nil
	}
	return &v1alpha1.StableSpec{Generation: p.Generation, Spec: string(encoded)}
}

// WithSpec returns a definition as it was with a spec.
func WithSpec(object *unstructured.Unstructured, stable *v1alpha1.StableSpec) (*unstructured.Unstructured, error) {
	var spec map[string]any
	if err := json.Unmarshal([]byte(stable.Spec), &spec); err != nil {
		return nil, fmt.Errorf("status.scriptRollout.stableSpec: %w", err)
	}
	restored := jsonvalue.With(object.Object, "spec", spec)
	restored["metadata"] = jsonvalue.With(jsonvalue.ObjectIn(object.Object, "metadata"), "generation", stable.Generation)
	return &unstructured.Unstructured{Object: restored}, nil
}

// AsServed returns a definition with the spec by which parents are synced that have no newer edit yet, and with its present settings for
// the host. It is the definition itself if that is its spec, but for scripts and the pace of rolling updates.
func AsServed(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	state := v1alpha1.StoredStatus(object).ScriptRollout
	if state == nil || state.StableSpec == nil {
		return object, nil
	}
	now, err := SpecHash(jsonvalue.ObjectIn(object.Object, "spec"))
	if err != nil || now == StableHash(state.StableSpec) {
		return object, err
	}
	restored, err := WithSpec(object, state.StableSpec)
	for _, field := range settingFields {
		if set, found, _ := unstructured.NestedMap(object.Object, "spec", field); found && err == nil {
			err = unstructured.SetNestedMap(restored.Object, set, "spec", field)
		}
	}
	return restored, err
}

// StableHash returns the hash of a spec that a status keeps, or empty if that can't be read.
func StableHash(stable *v1alpha1.StableSpec) string {
	var spec map[string]any
	if err := json.Unmarshal([]byte(stable.Spec), &spec); err != nil {
		return ""
	}
	hash, err := SpecHash(spec)
	if err != nil {
		return ""
	}
	return hash
}
