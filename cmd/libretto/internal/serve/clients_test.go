package serve

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

// TestBoundedClientTimesOut checks that the bounded client gives up on an API server that never answers.
func TestBoundedClientTimesOut(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // Before that the server does not notice that the client has gone.
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	all, err := newClients(&rest.Config{Host: server.URL}, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	pods := all.bounded.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace("a")
	if err := pods.Delete(identity.WithAccount(t.Context(), identity.Account{}), "b", metav1.DeleteOptions{}); !os.IsTimeout(err) {
		t.Errorf("it ends with %v, want a timeout", err)
	}
}
