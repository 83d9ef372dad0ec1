package livecluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

const definitionText = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: boxes}
spec:
  parentResource: {apiVersion: example.com/v1, resource: boxes}
  childResources: [{apiVersion: v1, resource: configmaps}]
  hooks: {sync: {script: {inline: "", engine: JavaScript}}}
`

// server serves lists of boxes and ConfigMaps, a few objects at a time, and counts requests.
type server struct {
	lists    map[string][]map[string]any // by path
	requests []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests = append(s.requests, r.URL.Path)
	w.Header().Set("Content-Type", "application/json")
	all, isList := s.lists[r.URL.Path]
	if !isList {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
		return
	}
	begin, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	end, next := begin+7, ""
	if end < len(all) {
		next = strconv.Itoa(end)
	}
	list := map[string]any{"kind": "AnyList", "apiVersion": "v1", "metadata": map[string]any{"continue": next}, "items": all[begin:min(end, len(all))]}
	_ = json.NewEncoder(w).Encode(list) // The client tells what it could not read.
}

// scene returns a reader of a server with boxes of three ConfigMaps each, an orphan of the first box and one of nobody.
func scene(t *testing.T, boxes int) (*server, *Reader, Query) {
	t.Helper()
	s := &server{lists: map[string][]map[string]any{}}
	object := func(kind, version, name, uid, app string, owner string) map[string]any {
		meta := map[string]any{"name": name, "namespace": "default", "uid": uid, "labels": map[string]any{"app": app}}
		if owner != "" {
			meta["ownerReferences"] = []any{map[string]any{"apiVersion": "example.com/v1", "kind": "Box", "name": owner, "uid": owner, "controller": true}}
		}
		return map[string]any{"apiVersion": version, "kind": kind, "metadata": meta, "spec": map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"app": app}}, "text": strings.Repeat("x", 1000),
		}}
	}
	var parents, children []map[string]any
	for i := range boxes {
		name := fmt.Sprintf("box-%02d", i)
		parents = append(parents, object("Box", "example.com/v1", name, name, name, ""))
		for j := range 3 {
			children = append(children, object("ConfigMap", "v1", fmt.Sprintf("%s-%d", name, j), fmt.Sprintf("%s-%d", name, j), name, name))
		}
	}
	children = append(children, object("ConfigMap", "v1", "orphan", "orphan", "box-00", ""), object("ConfigMap", "v1", "other", "other", "other", ""))
	s.lists["/apis/example.com/v1/boxes"], s.lists["/api/v1/namespaces/default/configmaps"] = parents, children
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	client, err := informer.RESTClientFor(&rest.Config{Host: web.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	definition := &unstructured.Unstructured{}
	resource, err := memcluster.Custom("example.com/v1", "Box", "boxes", true, true)
	if err == nil {
		err = yaml.Unmarshal([]byte(definitionText), &definition.Object)
	}
	if err != nil {
		t.Fatal(err)
	}
	base, err := stage.NewBase(definition, []memcluster.Resource{resource}, stage.Host{HostNamespace: "libretto"}, time.Unix(0, 0))
	if err != nil || base.Refusal != nil {
		t.Fatal(err, base.Refusal)
	}
	return s, &Reader{Client: client, Warn: func(text string) { t.Error(text) }}, Query{Plan: base.Plan}
}

// TestBatches reads twelve parents with more and with less memory than they take. Each comes once, with all that is its own.
func TestBatches(t *testing.T) {
	for name, c := range map[string]struct {
		held, max int
		parents   int
		rounds    func(int) bool
	}{
		"all at once":                      {held: maxHeld, parents: 12, rounds: func(n int) bool { return n == 1 }},
		"a third of them at a time":        {held: 20 << 10, parents: 12, rounds: func(n int) bool { return n >= 3 && n <= 12 }},
		"one takes more than may be held":  {held: 1, parents: 12, rounds: func(n int) bool { return n >= 12 }},
		"the first four":                   {held: maxHeld, max: 4, parents: 4, rounds: func(n int) bool { return n == 1 }},
		"the first four, in several times": {held: 6 << 10, max: 4, parents: 4, rounds: func(n int) bool { return n >= 2 }},
	} {
		t.Run(name, func(t *testing.T) {
			s, reader, query := scene(t, 12)
			query.MaxParents = c.max
			var got []string
			err := reader.batches(t.Context(), query, c.held, func(b Batch) error {
				for _, p := range b.Parents {
					var owned []string
					for _, o := range b.Objects {
						if strings.HasPrefix(o.GetLabels()["app"], p.GetName()) && o.GetKind() == "ConfigMap" {
							owned = append(owned, o.GetName())
						}
					}
					got = append(got, fmt.Sprintf("%s: %s", p.GetName(), strings.Join(owned, " ")))
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for i := range c.parents {
				orphan := ""
				if i == 0 {
					orphan = " orphan"
				}
				want = append(want, fmt.Sprintf("box-%02d: box-%02[1]d-0 box-%02[1]d-1 box-%02[1]d-2%s", i, orphan))
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			pages := 0
			for _, path := range s.requests {
				if strings.HasSuffix(path, "/configmaps") {
					pages++
				}
			}
			if rounds := pages / 6; !c.rounds(rounds) || pages%6 != 0 { // Of 38 ConfigMaps, 7 at a time.
				t.Errorf("%d pages of ConfigMaps", pages)
			}
		})
	}
}

// TestExisting asks for objects by name: only a name that is taken costs a request.
func TestExisting(t *testing.T) {
	s, reader, query := scene(t, 1)
	err := reader.Batches(t.Context(), query, func(b Batch) error {
		before := len(s.requests)
		resource := memcluster.Resource{Resource: query.Plan.Config.Children[0].Resource}
		found, err := b.Existing(resource, types.NamespacedName{Namespace: "default", Name: "free"})
		if found != nil || err != nil || len(s.requests) != before {
			t.Errorf("a name that is free: %v, error %v, %d requests", found, err, len(s.requests)-before)
		}
		_, err = b.Existing(resource, types.NamespacedName{Namespace: "default", Name: "other"})
		want := `you may not get configmaps in namespace default: it takes a Role with the rule {apiGroups: [""], resources: [configmaps], verbs: [get]}`
		if err == nil || err.Error() != want || len(s.requests) != before+1 {
			t.Errorf("a name that is taken: error %v, %d requests", err, len(s.requests)-before)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRelated reads what two parents select. The second one costs nothing.
func TestRelated(t *testing.T) {
	s, reader, query := scene(t, 2)
	related := reader.NewRelated()
	selection := parent.Selection{Resource: query.Plan.Config.Children[0].Resource, Namespace: "default"}
	for range 2 {
		objects, err := related.Select(context.Background(), selection)
		if err != nil || len(objects) != 8 {
			t.Errorf("%d objects, error %v", len(objects), err)
		}
	}
	if len(s.requests) != 2 { // Two pages.
		t.Errorf("%q", s.requests)
	}
}
