package finalizers

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
)

var recordTime = time.Unix(1_000_000_000, 0)

// storedRecord returns a record that was written by an earlier process.
func storedRecord(searched, resources string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": recordName, "namespace": "host"},
		"data": map[string]any{"searched": searched, "resources": resources},
	}}
	return o
}

func newTestRecord(objects ...runtime.Object) (*Record, *fake.FakeDynamicClient) {
	client := fake.NewSimpleDynamicClient(scheme.Scheme, objects...)
	return NewRecord(client, "host", labels.Everything(), nil, clocktesting.NewFakePassiveClock(recordTime)), client
}

// recorded returns what a later process finds in the record: the resources, or "all".
func recorded(t *testing.T, client *fake.FakeDynamicClient) string {
	t.Helper()
	next := NewRecord(client, "host", labels.Everything(), nil, clocktesting.NewFakePassiveClock(recordTime.Add(time.Hour)))
	resources, ok := next.resources(t.Context())
	if !ok {
		return "all"
	}
	return strings.Join(sets.List(resources), " ")
}

// TestFirstRecord goes through the first start of a host: all is searched until a search was finished, whatever begins meanwhile.
func TestFirstRecord(t *testing.T) {
	r, client := newTestRecord()
	if _, ok := r.resources(t.Context()); ok {
		t.Error("without a record not all is searched")
	}
	if err := r.add(t.Context(), []string{"things.example.com"}); err != nil {
		t.Fatal(err)
	}
	if got := recorded(t, client); got != "all" {
		t.Errorf("a process that ends before it has searched all leaves a record: %s", got)
	}
	if err := r.finish(t.Context(), []string{"boxes.example.com", "boxes.example.com"}); err != nil {
		t.Fatal(err)
	}
	if got := recorded(t, client); got != "boxes.example.com things.example.com" {
		t.Errorf("the record has %s", got)
	}
	if err := r.add(t.Context(), []string{"pods"}); err != nil {
		t.Fatal(err)
	}
	if got := recorded(t, client); got != "boxes.example.com pods things.example.com" {
		t.Errorf("the record has %s after a definition began", got)
	}
	client.ClearActions()
	if err := r.add(t.Context(), []string{"pods", "things.example.com"}); err != nil || len(client.Actions()) > 0 {
		t.Errorf("what is recorded costs %d requests (%v)", len(client.Actions()), err)
	}
}

// TestWhichRecordsCount checks which records a start uses.
func TestWhichRecordsCount(t *testing.T) {
	at := func(age time.Duration) string { return recordTime.Add(time.Hour - age).UTC().Format(time.RFC3339) }
	for name, c := range map[string]struct{ reason, searched, resources, want string }{
		"fresh":      {"what is in it is searched", at(time.Hour), "b\na", "a b"},
		"empty":      {"nothing has a finalizer", at(time.Hour), "", ""},
		"old":        {"another program may have added finalizers", at(8 * 24 * time.Hour), "a", "all"},
		"no time":    {"nothing is lost because something can't be read", "yesterday", "a", "all"},
		"no content": {"a record without content is none", "", "", "all"},
	} {
		_, client := newTestRecord(storedRecord(c.searched, c.resources))
		if got := recorded(t, client); got != c.want {
			t.Errorf("%s: %s is searched, want %s: %s", name, got, c.want, c.reason)
		}
	}
}

// TestRecordIsWrittenFirst checks that no definition begins to add finalizers before the record has its resources.
func TestRecordIsWrittenFirst(t *testing.T) {
	fresh := recordTime.UTC().Format(time.RFC3339)
	invalid := func() error { return apierrors.NewForbidden(configMaps.GroupResource(), recordName, nil) }
	conflict := func() error { return apierrors.NewConflict(configMaps.GroupResource(), recordName, nil) }
	for name, c := range map[string]struct {
		reason string
		fails  func() error // the first updates
		times  int
		isErr  bool
		want   string
	}{
		"written":    {"it is added", nil, 0, false, "a b"},
		"conflict":   {"a conflict is tried again", conflict, 2, false, "a b"},
		"conflicts":  {"but not for ever", conflict, 100, true, "a"},
		"no right":   {"without the right it must not begin", invalid, 100, true, "a"},
		"later":      {"and may begin when it has it", invalid, 1, false, "a b"},
		"no API now": {"nor while the API server does not answer", func() error { return apierrors.NewInternalError(errors.New("down")) }, 100, true, "a"},
	} {
		r, client := newTestRecord(storedRecord(fresh, "a"))
		left := c.times
		client.PrependReactor("update", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
			if left == 0 {
				return false, nil, nil
			}
			left--
			return true, nil, c.fails()
		})
		err := r.add(t.Context(), []string{"b"})
		if c.times == 1 {
			if err == nil {
				t.Errorf("%s: it begins although the write failed", name)
			}
			err = r.add(t.Context(), []string{"b"})
		}
		if got := recorded(t, client); (err != nil) != c.isErr || got != c.want {
			t.Errorf("%s: %s: the record has %s (%v)", name, c.reason, got, err)
		}
	}
}

// TestRecordOfOthers checks what happens to a record that others write or delete while a process runs.
func TestRecordOfOthers(t *testing.T) {
	r, client := newTestRecord(storedRecord(recordTime.UTC().Format(time.RFC3339), "a"))
	records := client.Resource(configMaps).Namespace("host")
	if _, ok := r.resources(t.Context()); !ok {
		t.Fatal("the record is not read")
	}
	if err := records.Delete(t.Context(), recordName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := r.add(t.Context(), []string{"b"}); err != nil {
		t.Errorf("a record that was deleted, so that the next start searches all, holds a definition up: %v", err)
	}
	if got := recorded(t, client); got != "all" {
		t.Errorf("it is made again, with %s alone", got)
	}
	if _, err := records.Create(t.Context(), storedRecord(recordTime.UTC().Format(time.RFC3339), "c"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := r.finish(t.Context(), []string{"a"}); err != nil {
		t.Errorf("a record that another process made first: %v", err)
	}
	if got := recorded(t, client); !slices.Contains(strings.Fields(got), "b") {
		t.Errorf("the record has %s, and not what was added", got)
	}
}
