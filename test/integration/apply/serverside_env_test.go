package apply

import (
	"fmt"
	"os"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kube "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/serverside"
	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// serverSideEnv is a namespace with an owner, in which writers write.
type serverSideEnv struct {
	t         *testing.T
	cluster   *cluster.Cluster
	namespace string
	owner     metav1.OwnerReference
}

func newServerSideEnv(t *testing.T) *serverSideEnv {
	t.Helper()
	s := &serverSideEnv{t: t, cluster: cluster.Get(t)}
	env.NoError(t, s.cluster.ApplyFiles(t.Context(), "testdata/serverside/kinds.yaml"))
	s.namespace = s.cluster.Namespace(t)
	owner := s.parse(`{apiVersion: v1, kind: ConfigMap, metadata: {name: owner}}`)
	made, err := s.in(owner).Create(t.Context(), owner, metav1.CreateOptions{})
	s.must(err)
	s.owner = metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: made.GetUID()}
	return s
}

// sub returns the same serverSideEnv for a subtest.
func (s *serverSideEnv) sub(t *testing.T) *serverSideEnv {
	other := *s
	other.t = t
	return &other
}

func (s *serverSideEnv) must(err error) {
	s.t.Helper()
	env.NoError(s.t, err)
}

// parse reads one YAML document as an object of the namespace.
func (s *serverSideEnv) parse(document string) *unstructured.Unstructured {
	s.t.Helper()
	data, err := yaml.YAMLToJSON([]byte(document))
	s.must(err)
	object := &unstructured.Unstructured{}
	s.must(json.Unmarshal(data, &object.Object))
	object.SetNamespace(s.namespace)
	return object
}

// read reads the documents of a file, by name.
func (s *serverSideEnv) read(file string) map[string]*unstructured.Unstructured {
	s.t.Helper()
	data, err := os.ReadFile("testdata/serverside/" + file)
	s.must(err)
	found := map[string]*unstructured.Unstructured{}
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		object := s.parse(document)
		found[object.GetName()] = object
	}
	return found
}

func resourceOf(object *unstructured.Unstructured) kube.GroupVersionResource {
	kind := object.GroupVersionKind()
	resource := strings.ToLower(kind.Kind) + "s"
	switch {
	case strings.HasSuffix(resource, "ys"):
		resource = strings.TrimSuffix(resource, "ys") + "ies"
	case strings.HasSuffix(resource, "ss"):
		resource = strings.TrimSuffix(resource, "s") + "es"
	}
	return kind.GroupVersion().WithResource(resource)
}

func (s *serverSideEnv) in(object *unstructured.Unstructured) dynamic.ResourceInterface {
	return s.cluster.Dynamic().Resource(resourceOf(object)).Namespace(s.namespace)
}

// live returns the stored object, or nil.
func (s *serverSideEnv) live(object *unstructured.Unstructured) *unstructured.Unstructured {
	s.t.Helper()
	found, err := s.in(object).Get(s.t.Context(), object.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	s.must(err)
	return found
}

// entryOf returns the entry of live's managedFields of a manager and an operation, or nil.
func entryOf(live *unstructured.Unstructured, manager string, operation metav1.ManagedFieldsOperationType) *metav1.ManagedFieldsEntry {
	for _, e := range live.GetManagedFields() {
		if e.Manager == manager && e.Operation == operation && e.Subresource == "" {
			return &e
		}
	}
	return nil
}

// writer is a definition's way of writing.
type writer struct {
	*serverSideEnv
	rule apply.Rule
}

const prefix = "libretto"

// applies returns a writer by server-side apply.
func (s *serverSideEnv) applies(definition string) writer {
	return writer{s, apply.Rule{
		Namespaced: true, Method: apply.InPlace, Strategy: apply.ServerSideApply, Force: true, Managers: managersOf(definition),
	}}
}

// merges returns a writer by dynamic apply.
func (s *serverSideEnv) merges(definition string) writer {
	return writer{s, apply.Rule{Namespaced: true, Method: apply.InPlace, Managers: managersOf(definition)}}
}

func managersOf(definition string) serverside.Managers {
	return serverside.Managers{Own: serverside.ManagerName(prefix, "composite", definition), Former: []string{prefix, "metacontroller"}}
}

// diff compares as a pass does: the objects that it observes have no managedFields, and of
// those only what this program has applied is known.
func (w writer) diff(desired *unstructured.Unstructured) []apply.Change {
	w.t.Helper()
	rule := w.rule
	rule.Kind, rule.Resource = desired.GroupVersionKind(), resourceOf(desired)
	in := apply.Input{Owner: w.owner, Desired: []*unstructured.Unstructured{desired}, Rules: []apply.Rule{rule}}
	if live := w.live(desired); live != nil {
		entries := kept(live)
		live.SetManagedFields(nil)
		in.Observed = []*unstructured.Unstructured{live}
		in.ManagedFields = func(*unstructured.Unstructured) []any { return entries }
	}
	changes, err := apply.Diff(in)
	w.must(err)
	return changes
}

func kept(live *unstructured.Unstructured) []any {
	all, _, _ := unstructured.NestedSlice(live.Object, "metadata", "managedFields")
	var entries []any
	for _, e := range all {
		e := e.(map[string]any)
		if strings.HasPrefix(e["manager"].(string), prefix+"/") && e["operation"] == "Apply" {
			entries = append(entries, e)
		}
	}
	return entries
}

// sync makes one pass and returns its results.
func (w writer) sync(desired *unstructured.Unstructured) []apply.Result {
	w.t.Helper()
	return apply.Execute(w.t.Context(), w.cluster.Dynamic(), w.diff(desired), apply.Options{FieldManager: prefix})
}

// write makes one pass that has to succeed, and says how much it wrote.
func (w writer) write(desired *unstructured.Unstructured) int {
	w.t.Helper()
	outcomes := w.sync(desired)
	for _, o := range outcomes {
		w.must(o.Err)
	}
	return len(outcomes)
}

// settle makes passes until one has nothing to write, and fails after the second that has.
// A version that somebody else has just written is none of them.
func (w writer) settle(desired *unstructured.Unstructured) {
	w.t.Helper()
	cluster.Eventually(w.t, soon, func() error {
		outcomes := w.sync(desired)
		for _, o := range outcomes {
			if apply.Classify(o.Err) == apply.FailureConflict {
				return o.Err
			}
			w.must(o.Err)
		}
		return nil
	})
	for range 10 {
		if changes := w.diff(desired); len(changes) > 0 {
			w.t.Fatalf("%s is written again: %s %v", apply.KeyOf(desired), changes[0].Action, changes[0].Diffs())
		}
	}
}

// value returns what is at a path, as text.
func value(object *unstructured.Unstructured, path ...string) string {
	v, _, _ := unstructured.NestedFieldNoCopy(object.Object, path...)
	return fmt.Sprint(v)
}

func eventually(t *testing.T, check func() error) {
	t.Helper()
	cluster.Eventually(t, soon, check)
}
