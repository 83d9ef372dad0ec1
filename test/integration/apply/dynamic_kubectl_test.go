package apply

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/fielddiff"
	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// edits is how many random edits are made of each kind. They are the same each time,
// unless SEED in the environment is another number.
var edits = map[string]int{"Deployment": 40, "Service": 25, "ConfigMap": 8, "NetworkPolicy": 8, "Ingress": 8, "CronJob": 11}

// different are the fields in which kubectl apply comes to something else, and why.
var different = []struct {
	kind, path, reason string
}{
	{"ConfigMap", `data(\.d)?$`, "a null is no wish here; the API server makes an empty text of it in a new object, and kubectl deletes that with the next edit"},
	{"Service", `spec\.selector`, "the schema says that a selector is one value, so that what others add goes; kubectl merges it"},
	{"Deployment", `spec\.template\.spec\.nodeSelector`,
		"the schema says that a node selector is one value, so that what others add goes with the next change; kubectl merges it"},
	{"Deployment", `spec\.template\.spec\.tolerations`,
		"admission may append tolerations, so that they stay if nothing else is asked for; kubectl replaces the list"},
}

// TestAsKubectlApplies makes random objects, lets another writer meddle with them, and
// edits them at random, with this program and with kubectl apply. Both must come to the same.
func TestAsKubectlApplies(t *testing.T) {
	seed := uint64(1)
	if text := os.Getenv("SEED"); text != "" {
		if _, err := fmt.Sscan(text, &seed); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("SEED=%d", seed)
	b := newDynamicEnv(t)
	o := &oracle{dynamicEnv: b, theirs: map[string]*unstructured.Unstructured{}, seen: map[string]bool{}}
	for _, kind := range slices.Sorted(maps.Keys(edits)) {
		for n := range edits[kind] {
			o.add(kind, seed+uint64(n)*7919)
		}
	}
	o.begin()
	o.finish()
	refused := 0
	for _, e := range o.edits {
		ours, err := o.ours(e)
		theirs := o.theirs[e.name("kubectl")]
		if err != nil && theirs == nil {
			refused++
			continue
		}
		o.compare(e, ours, theirs, err)
	}
	for _, known := range different {
		if !o.seen[known.reason] {
			t.Logf("no difference in %s of a %s this time", known.path, known.kind)
		}
	}
	t.Logf("%d edits, of which %d were refused whoever made them", len(o.edits), refused)
	if refused > len(o.edits)/5 {
		t.Error("that is too many: mend the dice")
	}
}

// oracle is both sides of the comparison.
type oracle struct {
	*dynamicEnv
	edits  []edit
	theirs map[string]*unstructured.Unstructured
	seen   map[string]bool // reasons
}

// edit is an object before and after.
type edit struct {
	kind          string
	seed          uint64
	before, after *unstructured.Unstructured
	meddling      []byte // of another writer, in between
}

func (o *oracle) add(kind string, seed uint64) {
	o.t.Helper()
	e := edit{kind: kind, seed: seed}
	var err error
	if e.before, err = throw(kind, dice{seed, seed}); err != nil {
		o.t.Fatal(err)
	}
	if e.after, err = throw(kind, dice{seed + 1, seed}); err != nil {
		o.t.Fatal(err)
	}
	choices := append([]string{"{}"}, meddling[kind]...)
	if e.meddling, err = yaml.YAMLToJSON([]byte(dice{seed, seed}.pick("meddling", choices...))); err != nil {
		o.t.Fatal(err)
	}
	o.edits = append(o.edits, e)
}

func (e edit) name(whose string) string {
	return strings.ToLower(fmt.Sprintf("%s-%s-%d", whose, e.kind, e.seed))
}

// named returns a copy of an object with the name of a side.
func (o *oracle) named(object *unstructured.Unstructured, name string) *unstructured.Unstructured {
	object = object.DeepCopy()
	object.SetName(name)
	object.SetNamespace(o.namespace)
	return object
}

// begin makes all objects on both sides, and meddles with them.
func (o *oracle) begin() {
	o.t.Helper()
	var all []*unstructured.Unstructured
	for _, e := range o.edits {
		all = append(all, o.named(e.before, e.name("kubectl")))
		if err := o.sync(o.named(e.before, e.name("ours"))); err != nil {
			o.t.Fatalf("SEED=%d: %v", e.seed, err)
		}
	}
	o.kubectl(all)
	for _, e := range o.edits {
		for _, whose := range []string{"ours", "kubectl"} {
			_, err := o.resource(e.before).Patch(o.t.Context(), e.name(whose), types.StrategicMergePatchType, e.meddling,
				metav1.PatchOptions{FieldManager: "somebody"})
			if err != nil {
				o.t.Fatalf("SEED=%d: %v", e.seed, err)
			}
		}
	}
}

// finish edits all objects of kubectl's side, and records the results.
func (o *oracle) finish() {
	o.t.Helper()
	var all []*unstructured.Unstructured
	for _, e := range o.edits {
		all = append(all, o.named(e.after, e.name("kubectl")))
	}
	for _, object := range o.kubectl(all, "--dry-run=server") {
		o.theirs[object.GetName()] = object
	}
}

// kubectl applies objects with kubectl, and returns those that were not refused.
func (o *oracle) kubectl(objects []*unstructured.Unstructured, flags ...string) []*unstructured.Unstructured {
	o.t.Helper()
	items := make([]any, len(objects))
	for i, object := range objects {
		items[i] = object.Object
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	env.NoError(o.t, err)
	file := filepath.Join(o.t.TempDir(), "objects.json")
	env.NoError(o.t, os.WriteFile(file, text, 0o600))
	out, err := cluster.Get(o.t).Kubectl(o.t.Context(),
		append([]string{"apply", "-f", file, "-o", "json", "--validate=false", "--openapi-patch=false"}, flags...)...)
	if out == "" {
		o.t.Fatal(err)
	}
	list := &unstructured.UnstructuredList{}
	env.NoError(o.t, list.UnmarshalJSON([]byte(out)))
	applied := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		applied[i] = &list.Items[i]
	}
	return applied
}

// ours returns the result of applying an object of ours.
func (o *oracle) ours(e edit) (*unstructured.Unstructured, error) {
	o.t.Helper()
	desired := o.named(e.after, e.name("ours"))
	for {
		changes := o.diff(desired)
		if len(changes) == 0 {
			return o.find(desired), nil
		}
		merged, err := o.resource(desired).Update(o.t.Context(), changes[0].Object, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		if apply.Classify(err) != apply.FailureConflict {
			return merged, err
		}
	}
}

// compare tells of differences without reason.
func (o *oracle) compare(e edit, ours, theirs *unstructured.Unstructured, refused error) {
	o.t.Helper()
	var diffs []fielddiff.Diff
	switch {
	case refused != nil:
		diffs = []fielddiff.Diff{{Path: "refused ours", To: refused.Error()}}
	case theirs == nil:
		diffs = []fielddiff.Diff{{Path: "refused theirs"}}
	default:
		diffs = fielddiff.Describe(nil, comparable(ours), comparable(theirs))
	}
	for _, diff := range diffs {
		if o.reason(e, diff) == "" {
			o.t.Errorf("SEED=%d: %s: %s is %s, and with kubectl %s", e.seed, e.kind, diff.Path, diff.From, diff.To)
		}
	}
}

// reason explains a difference.
func (o *oracle) reason(e edit, diff fielddiff.Diff) string {
	for _, known := range different {
		if known.kind == e.kind && regexp.MustCompile("^"+known.path).MatchString(diff.Path) {
			o.seen[known.reason] = true
			return known.reason
		}
	}
	return ""
}

// comparable leaves out what is each side's own.
func comparable(object *unstructured.Unstructured) *unstructured.Unstructured {
	out := scrubbed(object)
	out.SetName("")
	annotations := out.GetAnnotations()
	delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
	if out.SetAnnotations(annotations); len(annotations) == 0 {
		unstructured.RemoveNestedField(out.Object, "metadata", "annotations")
	}
	ports, _, _ := unstructured.NestedSlice(out.Object, "spec", "ports")
	for _, port := range ports {
		delete(port.(map[string]any), "nodePort")
	}
	if len(ports) > 0 {
		_ = unstructured.SetNestedSlice(out.Object, ports, "spec", "ports")
	}
	return out
}
