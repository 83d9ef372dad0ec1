package informer

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/runtime/values/objectjson"
	"github.com/libretto-k8s/libretto/runtime/values/shard"
)

// TestShard lists and watches the objects of a shard at a server that sends those of all.
func TestShard(t *testing.T) {
	ranges := shard.Divide([]string{"shop", "blog"}, 2)
	mine, theirs := ranges[0], "shop"
	if mine.Contains("shop") {
		theirs = "blog"
	}
	in := func(namespace, name, version string) string {
		return strings.Replace(configMap(name, version, "x"), `"default"`, fmt.Sprintf("%q", namespace), 1)
	}
	var selectors []string
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		selectors = append(selectors, r.URL.Query().Get("shardSelector"))
		w.Header().Set("Content-Type", "application/json")
		own := map[string]string{"shop": "blog", "blog": "shop"}[theirs]
		if r.URL.Query().Get("watch") == "" {
			_, _ = io.WriteString(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[`+
				in(theirs, "a", "5")+","+in(own, "b", "6")+"]}")
			return
		}
		_, _ = io.WriteString(w, watchEvent("ADDED", in(own, "c", "8"))+watchEvent("MODIFIED", in(theirs, "a", "9"))+
			watchEvent("DELETED", in(own, "b", "10")))
	})
	l := &listWatch{
		client: client, scope: scope{GroupVersionResource: configMaps, shard: mine}, failed: func(err error) { t.Error(err) },
		options: objectjson.Options{Interner: objectjson.NewInterner()},
	}
	list, err := l.list(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, object := range list.(*unstructured.UnstructuredList).Items {
		got = append(got, object.GetName())
	}
	w, err := l.watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		got = append(got, described(event)+" "+event.Object.(*unstructured.Unstructured).GetResourceVersion())
	}
	if diff := cmp.Diff([]string{"b", "ADDED c 8", "BOOKMARK  9", "DELETED b 10"}, got); diff != "" {
		t.Errorf("objects and events (-want, +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{mine.Selector(), mine.Selector()}, selectors); diff != "" {
		t.Errorf("selectors (-want, +got):\n%s", diff)
	}
}
