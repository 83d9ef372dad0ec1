package memcluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// nextEventsOf returns the next events of a watch, like "ADDED a".
func nextEventsOf(t *testing.T, w watch.Interface, count int) []string {
	t.Helper()
	var got []string
	for range count {
		select {
		case event := <-w.ResultChan():
			got = append(got, string(event.Type)+" "+event.Object.(*unstructured.Unstructured).GetName())
		case <-t.Context().Done():
			t.Fatal("the watch says nothing")
		}
	}
	return got
}

// TestWatch checks that a watch begins after the version of a list, and ends when it is stopped.
func TestWatch(t *testing.T) {
	_, at := newBoxes(t, nil)
	create(t, at, box("before", nil))
	list, err := at.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("listed %v, %v", list, err)
	}
	create(t, at, box("between", nil))
	w, err := at.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		t.Fatal(err)
	}
	create(t, at, box("after", nil))
	if err := at.Delete(t.Context(), "between", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ADDED between", "ADDED after", "DELETED between"}, nextEventsOf(t, w, 3)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	w.Stop()
	w.Stop()
	if _, open := <-w.ResultChan(); open {
		t.Error("a stopped watch says something")
	}
}

func TestSelectors(t *testing.T) {
	_, at := newBoxes(t, nil)
	labelled := box("a", nil)
	labelled.SetLabels(map[string]string{"app": "x"})
	create(t, at, labelled)
	create(t, at, box("b", nil))
	for name, tc := range map[string]struct {
		options metav1.ListOptions
		want    []string
	}{
		"Labels": {metav1.ListOptions{LabelSelector: "app=x"}, []string{"a"}},
		"Name":   {metav1.ListOptions{FieldSelector: "metadata.name=b"}, []string{"b"}},
		"All":    {metav1.ListOptions{}, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := at.List(t.Context(), tc.options)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, item := range list.Items {
				got = append(got, item.GetName())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestRefusal checks that a refusal is for the selected writes, and only once.
func TestRefusal(t *testing.T) {
	c, at := newBoxes(t, func(Write) {})
	c.Refuse(Refusal{Verb: Create, Resource: "boxes", Name: "b", Reason: metav1.StatusReasonForbidden, Times: 1})
	create(t, at, box("a", nil))
	if _, err := at.Create(t.Context(), box("b", nil), metav1.CreateOptions{}); err == nil {
		t.Error("the write is not refused")
	}
	create(t, at, box("b", nil))
}
