package apply

import (
	"context"
	"fmt"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/apply/serverside"
)

// witness sees every version of the objects of one kind.
type witness struct {
	mu   sync.Mutex
	seen []*unstructured.Unstructured
	stop context.CancelFunc
	done chan struct{}
}

func (s *serverSideEnv) witness(object *unstructured.Unstructured) *witness {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	watch, err := s.in(object).Watch(ctx, metav1.ListOptions{})
	s.must(err)
	w := &witness{stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for event := range watch.ResultChan() {
			if object, ok := event.Object.(*unstructured.Unstructured); ok {
				w.mu.Lock()
				w.seen = append(w.seen, object)
				w.mu.Unlock()
			}
		}
	}()
	return w
}

// until waits until a version was seen, and returns all versions of its object.
func (w *witness) until(s *serverSideEnv, last *unstructured.Unstructured) []*unstructured.Unstructured {
	s.t.Helper()
	var versions []*unstructured.Unstructured
	eventually(s.t, func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		versions = nil
		found := false
		for _, object := range w.seen {
			if object.GetUID() == last.GetUID() {
				versions = append(versions, object)
				found = found || object.GetResourceVersion() == last.GetResourceVersion()
			}
		}
		if !found {
			return fmt.Errorf("version %s of %s was not seen", last.GetResourceVersion(), last.GetName())
		}
		return nil
	})
	w.stop()
	<-w.done
	return versions
}

// mustLoseNothing shows that what is desired was in every version since the first that had it.
func (s *serverSideEnv) mustLoseNothing(versions []*unstructured.Unstructured, check func(*unstructured.Unstructured) string) {
	s.t.Helper()
	want := check(versions[0])
	for _, version := range versions {
		if got := check(version); got != want {
			s.t.Errorf("in version %s it is %s, want %s", version.GetResourceVersion(), got, want)
		}
		if len(version.GetOwnerReferences()) != 1 {
			s.t.Errorf("in version %s the owners are %v", version.GetResourceVersion(), version.GetOwnerReferences())
		}
	}
}

// TestServerSideTakesOver shows that what was written in another way before is applied
// from then on, and that nothing is lost at any moment on the way there and back.
func TestServerSideTakesOver(t *testing.T) {
	s := newServerSideEnv(t)
	foreign := func(s *serverSideEnv, desired *unstructured.Unstructured) {
		s.edit(desired, "somebody", `{"metadata": {"annotations": {"theirs": "1"}}}`)
	}
	cases := map[string]struct {
		reason string
		before func(s *serverSideEnv, desired *unstructured.Unstructured)
	}{
		"dynamic": {"this host has merged",
			func(s *serverSideEnv, desired *unstructured.Unstructured) { s.merges("over").settle(desired) }},
		"metacontroller": {"metacontroller has merged",
			func(s *serverSideEnv, desired *unstructured.Unstructured) { s.asMetacontroller(desired) }},
		"metacontroller-server": {"metacontroller has applied",
			func(s *serverSideEnv, desired *unstructured.Unstructured) { s.applyAs("metacontroller", desired) }},
		"prefix": {"this host has applied under another prefix",
			func(s *serverSideEnv, desired *unstructured.Unstructured) { s.applyAs("other/composite/over", desired) }},
	}
	for name, tc := range cases {
		for kind, desired := range s.read("settle.yaml") {
			t.Run(name+"/"+kind, func(t *testing.T) {
				s := s.sub(t)
				desired := desired.DeepCopy()
				desired.SetName(name + "-" + kind)
				first := desired.DeepCopy()
				s.must(unstructured.SetNestedField(first.Object, "soon", "metadata", "labels", "gone"))
				tc.before(s, first)
				foreign(s, first)
				old := s.live(first)
				seen := s.witness(first)
				w := s.applies("over")
				w.settle(first)
				s.mustBeHeld(first, w.rule.Managers)
				s.mustLoseNothing(append([]*unstructured.Unstructured{old}, seen.until(s, s.live(first))...), contentOf)
				// What was asked for then and no longer is goes, and all else stays.
				w.settle(desired)
				now := s.live(desired)
				if now.GetLabels()["gone"] != "" || now.GetAnnotations()["theirs"] != "1" {
					t.Errorf("%s: labels are %v, annotations are %v", tc.reason, now.GetLabels(), now.GetAnnotations())
				}
				// And back.
				seen = s.witness(desired)
				s.merges("over").settle(desired)
				back := s.live(desired)
				if entryOf(back, w.rule.Managers.Own, metav1.ManagedFieldsOperationApply) != nil || back.GetAnnotations()[merge.LastApplied] == "" ||
					len(back.GetAnnotations()) > 3 {
					t.Errorf("%s: after going back: %v", tc.reason, back.Object["metadata"])
				}
				if entryOf(back, "somebody", metav1.ManagedFieldsOperationUpdate) == nil {
					t.Errorf("%s: somebody no longer holds what is theirs: %v", tc.reason, back.GetManagedFields())
				}
				s.mustLoseNothing(append([]*unstructured.Unstructured{now}, seen.until(s, back)...), contentOf)
			})
		}
	}
}

// mustBeHeld shows that the manager holds what is desired, and that none of its
// predecessors holds anything.
func (s *serverSideEnv) mustBeHeld(desired *unstructured.Unstructured, managers serverside.Managers) {
	s.t.Helper()
	live := s.live(desired)
	if entryOf(live, managers.Own, metav1.ManagedFieldsOperationApply) == nil || live.GetAnnotations()[merge.LastApplied] != "" {
		s.t.Errorf("it is not taken over: %v", live.Object["metadata"])
	}
	for _, e := range live.GetManagedFields() {
		if e.Manager != managers.Own && e.Manager != "somebody" && e.Subresource == "" && e.Manager != "controlplane" &&
			e.Manager != "kube-controller-manager" {
			s.t.Errorf("%s %s still holds %s", e.Manager, e.Operation, e.FieldsV1)
		}
	}
}

// contentOf is all that is not bookkeeping, and not what scheduler and provisioner fill
// in at a time of their own. A null is as good as nothing.
func contentOf(object *unstructured.Unstructured) string {
	content := object.DeepCopy()
	delete(content.Object, "metadata")
	delete(content.Object, "status")
	unstructured.RemoveNestedField(content.Object, "spec", "nodeName")
	unstructured.RemoveNestedField(content.Object, "spec", "volumeName")
	text, _ := json.Marshal(withoutNulls(content.Object))
	return fmt.Sprint(string(text), object.GetLabels())
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			if field == nil {
				delete(v, name)
			} else {
				v[name] = withoutNulls(field)
			}
		}
	case []any:
		for i, item := range v {
			v[i] = withoutNulls(item)
		}
	}
	return v
}

// asMetacontroller writes an object as metacontroller's dynamic apply does.
func (s *serverSideEnv) asMetacontroller(desired *unstructured.Unstructured) {
	s.t.Helper()
	object := desired.DeepCopy()
	text, err := json.Marshal(desired.Object)
	s.must(err)
	object.SetAnnotations(map[string]string{merge.LastApplied: string(text)})
	object.SetOwnerReferences([]metav1.OwnerReference{s.controllerRef()})
	_, err = s.in(object).Create(s.t.Context(), object, metav1.CreateOptions{FieldManager: "metacontroller"})
	s.must(err)
}

func (s *serverSideEnv) controllerRef() metav1.OwnerReference {
	yes := true
	ref := s.owner
	ref.Controller, ref.BlockOwnerDeletion = &yes, &yes
	return ref
}

// applyAs applies an object under a name.
func (s *serverSideEnv) applyAs(manager string, desired *unstructured.Unstructured) {
	s.t.Helper()
	object := desired.DeepCopy()
	object.SetOwnerReferences([]metav1.OwnerReference{s.controllerRef()})
	body, err := json.Marshal(object.Object)
	s.must(err)
	force := true
	_, err = s.in(object).Patch(s.t.Context(), object.GetName(), types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: manager, Force: &force})
	s.must(err)
}
