package merge_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/apply/applytest"
	"github.com/libretto-k8s/libretto/apply/fielddiff"
	"github.com/libretto-k8s/libretto/apply/merge"
	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// FuzzMerge checks what holds for any three objects: the merge does not panic,
// leaves its input alone, touches nothing that was never asked for, and has nothing
// left to do when it is done again.
func FuzzMerge(f *testing.F) {
	f.Add([]byte{}, true)
	f.Add([]byte("0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz"), true)
	for seed := range byte(8) {
		data := make([]byte, 400)
		for i := range data {
			data[i] = byte(i*i)*7 + byte(i)*seed + seed
		}
		f.Add(data, seed%4 != 0)
	}
	f.Fuzz(func(t *testing.T, data []byte, remembered bool) {
		g := grower{data: data}
		observed, last, desired := g.root(), g.root(), g.root()
		if remembered {
			observed, _ = merge.WithAnnotation(observed, merge.Managed(last))
		} else {
			last = nil
		}
		checkMerge(t, nil, &unstructured.Unstructured{Object: observed}, merge.Managed(last), &unstructured.Unstructured{Object: desired})
	})
}

// FuzzMergeBySchema checks the same for objects of kinds that have a schema, most of
// whose fields are of the types that it says.
func FuzzMergeBySchema(f *testing.F) {
	served := applytest.Kinds(f, "testdata")
	var kinds []schema.GroupVersionKind
	for _, name := range []string{"apply.example.com/v1/Typed", "apply.example.com/v1/Plain", "apps/v1/Deployment", "/v1/Service", "/v1/ConfigMap", "batch/v1/Job"} {
		part := strings.Split(name, "/")
		kinds = append(kinds, schema.GroupVersionKind{Group: part[0], Version: part[1], Kind: part[2]})
	}
	for seed := range 240 {
		random := rand.NewChaCha8([32]byte{byte(seed)})
		data := make([]byte, 1500)
		_, _ = random.Read(data) // It never fails.
		f.Add(data, seed, seed%4 != 0)
	}
	f.Fuzz(func(t *testing.T, data []byte, which int, remembered bool) {
		kind := served[kinds[(which%len(kinds)+len(kinds))%len(kinds)]]
		g := grower{data: data}
		observed, last, desired := g.rootBySchema(kind.Root), g.rootBySchema(kind.Root), g.rootBySchema(kind.Root)
		if remembered {
			observed, _ = merge.WithAnnotation(observed, merge.Managed(last))
		} else {
			last = nil
		}
		checkMerge(t, kind, &unstructured.Unstructured{Object: observed}, merge.Managed(last), &unstructured.Unstructured{Object: desired})
	})
}

func checkMerge(t *testing.T, kind *openapi.Kind, observed *unstructured.Unstructured, last map[string]any, desired *unstructured.Unstructured) {
	t.Helper()
	before, wanted := observed.DeepCopy(), desired.DeepCopy()
	merged, err := merge.Merge(kind, observed, desired)
	if err != nil {
		t.Fatal(err)
	}
	got := merged.Object
	fielddiff.Describe(kind, observed, got)
	if diff := cmp.Diff(before, observed) + cmp.Diff(wanted, desired); diff != "" {
		t.Fatalf("the input was changed (-before, +after):\n%s", diff)
	}
	l, d := merge.AsStored(last), merge.AsStored(merge.Managed(desired.Object))
	var root *openapi.Node
	if kind != nil {
		root = kind.Root
	}
	for name, value := range observed.Object {
		if name != "metadata" {
			checkForeign(t, name, root.Field(name), value, l[name], d[name], got.Object[name])
		}
	}
	again, err := merge.Merge(kind, got, desired)
	if err != nil || again.Object != got {
		t.Fatalf("error %v; done again (-first, +second):\n%s\nobserved %v\ndesired %v", err, cmp.Diff(got, again.Object), observed.Object, desired.Object)
	}
}

// checkForeign checks that what neither last nor desired mention is as it was observed,
// unless it is a part of something that is one value.
func checkForeign(t *testing.T, path string, node *openapi.Node, observed, last, desired, got any) {
	t.Helper()
	if last == nil && desired == nil {
		if diff := cmp.Diff(observed, got); diff != "" {
			t.Fatalf("%s was never asked for (-observed, +merged):\n%s", path, diff)
		}
		return
	}
	o, isObject := observed.(map[string]any)
	d, isDesired := desired.(map[string]any)
	m, isMerged := got.(map[string]any)
	if !isObject || !isDesired || !isMerged || node != nil && (node.Atomic || node.Retains) {
		return
	}
	l, _ := last.(map[string]any)
	for name := range o {
		checkForeign(t, path+"."+name, node.Field(name), o[name], l[name], d[name], m[name])
	}
}

// grower grows objects out of fuzz data. There are few names and few values, so
// that three of them have something in common.
type grower struct{ data []byte }

func (g *grower) next(n int) int {
	if len(g.data) == 0 {
		return 0
	}
	b := g.data[0]
	g.data = g.data[1:]
	return int(b) % n
}

var growerNames = []string{
	"name", "port", "protocol", "containerPort", "path", "metadata", "finalizers", "annotations", "limits", "tolerations",
	"clusterIP", "a", "b", "spec", "status", "uid", "stringData", "data", "ownerReferences",
}

var growerScalars = []any{
	nil, "", "x", "w", "TCP", "UDP", "1", "1000m", "sha256:", int64(0), int64(1), 1.0, 0.5, int64(53), true, false,
}

// root grows an object that has a name, as Diff makes sure.
func (g *grower) root() map[string]any {
	out := g.object(0)
	if g.next(4) == 1 {
		out["kind"], out["apiVersion"] = "Secret", "v1"
	}
	meta := jsonvalue.With(jsonvalue.ObjectIn(out, "metadata"), "name", "a")
	if _, isObject := meta["annotations"].(map[string]any); !isObject {
		delete(meta, "annotations")
	}
	out["metadata"] = meta
	return out
}

func (g *grower) object(depth int) map[string]any {
	out := map[string]any{}
	for range g.next(6) {
		out[growerNames[g.next(len(growerNames))]] = g.value(depth + 1)
	}
	return out
}

func (g *grower) value(depth int) any {
	switch kind := g.next(8); {
	case depth < 5 && kind >= 6:
		return g.object(depth)
	case depth < 5 && kind >= 4:
		return g.list(depth)
	default:
		return growerScalars[g.next(len(growerScalars))]
	}
}

// list grows a list of anything or, more often, of objects that have a name or a port.
func (g *grower) list(depth int) []any {
	out := []any{}
	shape := g.next(4)
	for range g.next(5) {
		if shape == 0 {
			out = append(out, g.value(depth+1))
			continue
		}
		item := g.object(depth + 1)
		item[growerNames[shape-1]] = growerScalars[g.next(len(growerScalars))]
		out = append(out, item)
	}
	return out
}

// rootBySchema grows an object that has a name and whatever its kind has.
func (g *grower) rootBySchema(node *openapi.Node) map[string]any {
	out := g.objectBySchema(node, 0)
	meta := jsonvalue.With(jsonvalue.ObjectIn(out, "metadata"), "name", "a")
	if _, isObject := meta["annotations"].(map[string]any); !isObject {
		delete(meta, "annotations")
	}
	out["metadata"] = meta
	out["spec"] = g.valueBySchema(node.Field("spec"), 1)
	return out
}

func (g *grower) objectBySchema(node *openapi.Node, depth int) map[string]any {
	names := growerNames
	if node != nil && len(node.Fields) > 0 {
		names = slices.Sorted(maps.Keys(node.Fields))
	}
	out := map[string]any{}
	for range g.next(6) {
		name := names[g.next(len(names))]
		if g.next(16) == 1 {
			name = growerNames[g.next(len(growerNames))]
		}
		out[name] = g.valueBySchema(node.Field(name), depth+1)
	}
	return out
}

// valueBySchema grows a value of the right type, or now and then of any.
func (g *grower) valueBySchema(node *openapi.Node, depth int) any {
	switch {
	case node == nil || depth > 9 || g.next(16) == 1:
		return g.value(min(depth, 4))
	case node.Type == openapi.Object:
		return g.objectBySchema(node, depth)
	case node.Type == openapi.List:
		return g.listBySchema(node, depth)
	default:
		return growerScalars[g.next(len(growerScalars))]
	}
}

// listBySchema grows a list whose items have most of the fields of its key.
func (g *grower) listBySchema(node *openapi.Node, depth int) []any {
	out := []any{}
	for range g.next(5) {
		item := g.valueBySchema(node.Items, depth+1)
		if object, ok := item.(map[string]any); ok {
			for _, key := range node.Keys {
				if g.next(4) > 0 {
					object[key] = growerScalars[g.next(len(growerScalars))]
				}
			}
		}
		out = append(out, item)
	}
	return out
}
