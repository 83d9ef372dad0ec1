package migration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// hooks answer as those of a user of metacontroller do, and count who was asked about whom.
type hooks struct {
	namespace string

	mu    sync.Mutex
	asked map[string]int // by path and parent
}

// request has the fields of all requests.
type request struct {
	Parent     unstructured.Unstructured
	Object     unstructured.Unstructured
	Related    map[string]map[string]unstructured.Unstructured
	Finalizing bool
}

func (h *hooks) serve(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+token {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	var q request
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	parent := q.Parent
	if parent.Object == nil {
		parent = q.Object
	}
	h.mu.Lock()
	h.asked[r.URL.Path+" "+parent.GetName()]++
	h.mu.Unlock()
	_ = json.NewEncoder(w).Encode(h.answer(r.URL.Path, &parent, q))
}

func (h *hooks) answer(path string, parent *unstructured.Unstructured, q request) any {
	shared := "missing"
	for _, o := range q.Related["ConfigMap.v1"] {
		shared = field(&o, "data", "text")
	}
	switch path {
	case "/composite/customize", "/decorator/customize":
		return map[string]any{"relatedResources": []any{map[string]any{
			"apiVersion": "v1", "resource": "configmaps", "namespace": h.namespace, "names": []any{"shared"},
		}}}
	case "/composite/finalize":
		return map[string]any{"children": []any{}, "finalized": true}
	case "/decorator/finalize":
		return map[string]any{"attachments": []any{}, "finalized": true}
	case "/composite/sync":
		return map[string]any{"status": statusOf(parent), "children": h.desired(parent, shared)}
	default:
		labels, annotations := decoration(parent)
		return map[string]any{"labels": labels, "annotations": annotations, "attachments": h.desired(parent, shared)}
	}
}

func (h *hooks) calls(path, parent string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked[path+" "+parent]
}

// statusOf is the status of a composite's parent, without what the host adds.
func statusOf(parent *unstructured.Unstructured) map[string]any {
	return map[string]any{"text": field(parent, "spec", "text")}
}

// decoration is what a decorator writes on a parent.
func decoration(parent *unstructured.Unstructured) (labels, annotations map[string]any) {
	return map[string]any{"decorated": field(parent, "spec", "text")}, map[string]any{"example.com/seen": "yes"}
}

// wanted are the children of a parent. Those of one in a namespace are in it too, which goes without saying.
func (h *hooks) desired(parent *unstructured.Unstructured, shared string) []any {
	name, text := parent.GetName(), field(parent, "spec", "text")
	metadata := func(suffix string) map[string]any {
		m := map[string]any{"name": name + suffix}
		if parent.GetNamespace() == "" {
			m["namespace"] = h.namespace
		}
		if labels, _, _ := unstructured.NestedMap(parent.Object, "spec", "selector", "matchLabels"); labels != nil {
			m["labels"] = labels
		}
		return m
	}
	if count, found, _ := unstructured.NestedInt64(parent.Object, "spec", "count"); found {
		var all []any
		for n := range count {
			all = append(all, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(fmt.Sprint("-", n)),
				"data": map[string]any{"text": text}})
		}
		return all
	}
	data := map[string]any{"text": text, "shared": shared}
	if extra, _, _ := unstructured.NestedBool(parent.Object, "spec", "extra"); extra {
		data["extra"] = "yes"
	}
	pod := map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app": name}},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "main", "image": "example.com/" + text,
			"ports": []any{map[string]any{"containerPort": int64(80)}}}}},
	}
	return []any{
		map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(""), "data": data},
		map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": metadata(""), "spec": map[string]any{
			"selector": map[string]any{"app": name}, "ports": []any{
				map[string]any{"name": "tcp", "port": int64(53), "protocol": "TCP"},
				map[string]any{"name": "udp", "port": int64(53), "protocol": "UDP"},
			}}},
		map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata(""), "spec": map[string]any{
			"replicas": int64(0), "selector": map[string]any{"matchLabels": map[string]any{"app": name}}, "template": pod,
		}},
	}
}
