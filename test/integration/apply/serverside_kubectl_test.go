package apply

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/apply"
)

// serverSideRounds is how often all objects of the settle table are edited.
const serverSideRounds = 15

// TestServerSideLikeKubectl edits objects at random, applies each state here and with
// kubectl apply --server-side --force-conflicts, and lets another writer edit both. What is
// there has to be the same, and what one is refused the other is refused too.
//
// Two differences are known, and are not among the edits. A null is sent by kubectl, and
// makes the API server write a zero or refuse it; here it is no wish. And of a Secret,
// kubectl sends stringData: what is taken out of that stays in data.
func TestServerSideLikeKubectl(t *testing.T) {
	ours, theirs := newServerSideEnv(t), newServerSideEnv(t)
	w := ours.applies("like-kubectl")
	editor := editor{rand.New(rand.NewPCG(4, 17))}
	desired := maps.Clone(ours.read("settle.yaml"))
	for name, object := range desired {
		delete(object.Object, "stringData")
		desired[name].Object = withoutNulls(object.Object).(map[string]any)
	}
	refused, edits, foreign := 0, 0, 0
	for round := range serverSideRounds {
		next := map[string]*unstructured.Unstructured{}
		for _, name := range slices.Sorted(maps.Keys(desired)) {
			next[name] = desired[name].DeepCopy()
			if round > 0 {
				editor.edit(next[name])
				edits++
			}
		}
		refusals := theirs.kubectl(t, next)
		for _, name := range slices.Sorted(maps.Keys(next)) {
			var err error
			eventually(t, func() error {
				for _, o := range w.sync(next[name]) {
					if err = o.Err; apply.Classify(err) == apply.FailureConflict {
						return err
					}
				}
				return nil
			})
			if (err != nil) != refusals[name] {
				t.Fatalf("round %d: %s: refused by kubectl: %v, here: %v", round, name, refusals[name], err)
			}
			if err != nil {
				refused++
				continue
			}
			desired[name] = next[name]
			if diff := cmp.Diff(scrub(theirs.live(desired[name])), scrub(ours.live(desired[name]))); diff != "" {
				t.Fatalf("round %d: %s (-kubectl, +here):\n%s", round, name, diff)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(desired)) {
			if round%3 == 0 {
				patch := editor.foreign(desired[name])
				if ours.tryEdit(desired[name], patch) != theirs.tryEdit(desired[name], patch) {
					t.Fatalf("round %d: %s: only one of both can be edited: %s", round, name, patch)
				}
				foreign++
			}
		}
	}
	if refused == 0 || refused > edits*2/3 {
		t.Errorf("%d of %d edits were refused: that shows little", refused, edits)
	}
	t.Logf("%d edits, %d refused, %d by somebody else", edits, refused, foreign)
}

// kubectl applies objects and says which of them were refused, by name.
func (s *serverSideEnv) kubectl(t *testing.T, objects map[string]*unstructured.Unstructured) map[string]bool {
	t.Helper()
	dir := t.TempDir()
	for name, object := range objects {
		object := object.DeepCopy()
		object.SetNamespace(s.namespace)
		text, err := object.MarshalJSON()
		s.must(err)
		s.must(os.WriteFile(filepath.Join(dir, name+".json"), text, 0o600))
	}
	out, _ := s.cluster.Kubectl(t.Context(), "apply", "--server-side", "--force-conflicts", "--field-manager=like-kubectl", "-f", dir)
	refusals := map[string]bool{}
	for name := range objects {
		refusals[name] = !strings.Contains(out, "/"+name+" serverside-applied")
	}
	return refusals
}

// tryEdit merges a patch into an object, as somebody. What the API server refuses is
// refused for both.
func (s *serverSideEnv) tryEdit(object *unstructured.Unstructured, patch []byte) bool {
	_, err := s.in(object).Patch(s.t.Context(), object.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "somebody"})
	return err == nil
}

// scrub leaves of an object what writers have a say in.
func scrub(object *unstructured.Unstructured) any {
	if object == nil {
		return nil
	}
	content := object.DeepCopy().Object
	for _, path := range [][]string{
		{"status"}, {"spec", "clusterIP"}, {"spec", "clusterIPs"}, {"spec", "template", "metadata", "labels"}, {"spec", "nodeName"},
		{"metadata", "annotations", "deployment.kubernetes.io/revision"},
	} {
		unstructured.RemoveNestedField(content, path...)
	}
	if object.GetKind() == "Job" {
		unstructured.RemoveNestedField(content, "spec", "selector")
	}
	ports, _, _ := unstructured.NestedSlice(content, "spec", "ports")
	for _, port := range ports {
		delete(port.(map[string]any), "nodePort")
	}
	if ports != nil {
		_ = unstructured.SetNestedSlice(content, ports, "spec", "ports")
	}
	annotations := map[string]any{}
	for name, value := range object.GetAnnotations() {
		if !strings.HasPrefix(name, "metacontroller.k8s.io/") && !strings.HasPrefix(name, "deployment.kubernetes.io/") {
			annotations[name] = value
		}
	}
	labels := object.GetLabels()
	maps.DeleteFunc(labels, func(name, _ string) bool { return strings.HasSuffix(name, "controller-uid") })
	content["metadata"] = map[string]any{"labels": labels, "annotations": annotations, "finalizers": object.GetFinalizers()}
	return content
}

// editor edits objects at random.
type editor struct{ *rand.Rand }

// edit changes something somewhere below the top level.
func (e editor) edit(object *unstructured.Unstructured) {
	if e.IntN(4) == 0 {
		labels := object.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		if name := "l" + strconv.Itoa(e.IntN(3)); labels[name] != "" && e.IntN(2) == 0 {
			delete(labels, name)
		} else {
			labels[name] = "v" + strconv.Itoa(e.IntN(3))
		}
		object.SetLabels(labels)
		return
	}
	var places []string
	for name := range object.Object {
		if name != "apiVersion" && name != "kind" && name != "metadata" {
			places = append(places, name)
		}
	}
	slices.Sort(places)
	name := places[e.IntN(len(places))]
	object.Object[name] = e.value(object.Object[name])
}

// value changes something in a value.
func (e editor) value(v any) any {
	switch v := v.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		if len(names) == 0 {
			return map[string]any{}
		}
		name := names[e.IntN(len(names))]
		if e.IntN(6) == 0 {
			delete(v, name)
		} else {
			v[name] = e.value(v[name])
		}
		return v
	case []any:
		if len(v) == 0 {
			return v
		}
		switch at := e.IntN(len(v)); e.IntN(6) {
		case 0:
			return slices.Delete(v, at, at+1)
		case 1:
			slices.Reverse(v)
			return v
		default:
			v[at] = e.value(v[at])
			return v
		}
	case string:
		return []string{v + "a", strings.TrimSuffix(v, "a"), "", "1000m"}[e.IntN(4)]
	case int64:
		return v + int64(e.IntN(3)) - 1
	case bool:
		return !v
	}
	return v
}

// foreign returns another writer's patch of desired fields and of others.
func (e editor) foreign(object *unstructured.Unstructured) []byte {
	changed := object.DeepCopy()
	e.edit(changed)
	changed.Object["metadata"] = map[string]any{"annotations": map[string]any{"theirs": strconv.Itoa(e.IntN(3))}}
	text, err := changed.MarshalJSON()
	if err != nil {
		panic(err)
	}
	return text
}
