package edits

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// webhooks answer with three children of each parent, but none at the path /none, and at that of a row once it is emptied.
type webhooks struct {
	*httptest.Server
	emptied sync.Map
}

func newWebhooks(t *testing.T) *webhooks {
	t.Helper()
	w := &webhooks{}
	w.emptied.Store("none", true)
	w.Server = httptest.NewServer(http.HandlerFunc(w.answer))
	t.Cleanup(w.Close)
	return w
}

func (w *webhooks) empty(row string) { w.emptied.Store(row, true) }

func (w *webhooks) answer(response http.ResponseWriter, r *http.Request) {
	var request struct{ Parent unstructured.Unstructured }
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(response, err.Error(), http.StatusBadRequest)
		return
	}
	children := []any{}
	if _, emptied := w.emptied.Load(strings.TrimPrefix(r.URL.Path, "/")); !emptied {
		for _, name := range []string{"-a", "-b", "-c"} {
			children = append(children, map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": request.Parent.GetName() + name},
			})
		}
	}
	_ = json.NewEncoder(response).Encode(map[string]any{"children": children})
}
