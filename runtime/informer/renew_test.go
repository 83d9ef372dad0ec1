package informer

import (
	"net/http"
	"sync"
	"testing"

	"github.com/go-logr/logr"
)

// TestRenew breaks the watch of one of two resources: the next Open lists that anew, and shares the other.
func TestRenew(t *testing.T) {
	broken := make(chan struct{})
	lists := map[string]int{}
	var mu sync.Mutex
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if r.URL.Query().Get("sendInitialEvents") == "true" {
			lists[r.URL.Path]++
		} else { // A watch that goes on from a version.
			mu.Unlock()
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		first := lists[r.URL.Path] == 1
		mu.Unlock()
		if r.URL.Path == "/api/v1/configmaps" && first {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(watchEvent("BOOKMARK", initialEventsEnd)))
			_ = http.NewResponseController(w).Flush()
			<-broken
			return
		}
		streaming(w, r, watchEvent("BOOKMARK", initialEventsEnd))
	})
	pool := NewRESTPool(t.Context(), client, logr.Discard())
	secrets := configMaps.GroupVersion().WithResource("secrets")
	old, kept := pool.Open(configMaps), pool.Open(secrets)
	if !old.WaitForSync(t.Context()) || !kept.WaitForSync(t.Context()) {
		t.Fatal("the caches do not sync")
	}
	if pool.Renew() {
		t.Error("a cache is renewed while all watches are open")
	}
	close(broken)
	await(t, pool.Renew)
	again, same := pool.Open(configMaps), pool.Open(secrets)
	if again.shared == old.shared || same.shared != kept.shared {
		t.Errorf("the broken cache is shared: %t, the other: %t", again.shared == old.shared, same.shared == kept.shared)
	}
	if !again.WaitForSync(t.Context()) {
		t.Fatal("the new cache does not sync")
	}
	old.Close()
	if pool.Open(configMaps).shared != again.shared {
		t.Error("the end of the old cache has ended the new one")
	}
}
