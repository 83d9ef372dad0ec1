package webhooks

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// TestAuthorityIsReplaced shows that another authority in a ConfigMap is heeded, for the better and for the worse.
func TestAuthorityIsReplaced(t *testing.T) {
	s := newStage(t)
	server := serve(t, plain)
	stranger, _ := clientCertificate(t, "libretto")
	trust := func(authority string) {
		s.Apply(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: authority}, data: {ca.crt: %s}}", asYAML(authority)))
	}
	trust(stranger)
	s.definition("authority", fmt.Sprintf("{webhook: {url: %q, caBundle: {configMapRef: {namespace: %s, name: authority}}}}", server.URL, s.Namespace), "resyncPeriodSeconds: 1")
	s.thing("authority", "before")
	s.WaitForEvent("before", "SyncError", "in caBundle")
	trust(server.authority())
	s.holds("before", "yes")
	trust(stranger)
	s.thing("authority", "after")
	s.WaitForEvent("after", "SyncError", "in caBundle")
	server.says(wanting("no"))
	cluster.Consistently(t, 2*time.Second, func() error {
		if child := s.Get(env.ConfigMaps, "before"); child.Object["data"].(map[string]any)["value"] != "yes" {
			return fmt.Errorf("a server that is not trusted was heard")
		}
		return nil
	})
}

// TestRotationUnderLoad rotates what the server is shown while many parents call, and has the server refuse the old one as
// soon as it has seen the new one: no call may fail.
func TestRotationUnderLoad(t *testing.T) {
	s := newStage(t)
	t.Run("token", func(t *testing.T) {
		sent := func(r *http.Request) string { return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") }
		s.in(t).rotateUnderLoad("token", plain, sent, "authorization: {secretRef: {namespace: %s, name: token, key: token}}", func(n int) map[string]string {
			return map[string]string{"token": fmt.Sprint("token-", n)}
		})
	})
	t.Run("certificate", func(t *testing.T) {
		sent := func(r *http.Request) string { return r.TLS.PeerCertificates[0].Subject.CommonName }
		s.in(t).rotateUnderLoad("certificate", showing, sent, "clientTLS: {secretRef: {namespace: %s, name: certificate}}", func(n int) map[string]string {
			certificate, key := clientCertificate(t, fmt.Sprint("token-", n))
			return map[string]string{"tls.crt": certificate, "tls.key": key}
		})
	})
}

// newest brings the largest number seen up to date, and gives it.
func newest(largest *atomic.Int64, seen int64) int64 {
	for {
		now := largest.Load()
		if seen <= now || largest.CompareAndSwap(now, seen) {
			return max(now, seen)
		}
	}
}

// rotateUnderLoad rotates the Secret of that name, whose n-th content is data(n). The server is shown token-<n>.
func (s *stage) rotateUnderLoad(name string, edit func(*httptest.Server), shown func(*http.Request) string, given string, data func(n int) map[string]string) {
	s.T.Helper()
	const parents, rotations, callsBetween = 20, 5, 100
	var valid atomic.Int64
	server := serve(s.T, edit)
	server.says(func(w http.ResponseWriter, r *http.Request) {
		var sent int64
		_, err := fmt.Sscanf(shown(r), "token-%d", &sent)
		if latest := newest(&valid, sent); err != nil || sent < latest {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"children": [], "resyncAfterSeconds": 0.1}`)
	})
	s.secret(name, data(1))
	definition := s.definition(name, fmt.Sprintf("{webhook: {url: %q, caBundle: {inline: %s}, %s}}", server.URL, asYAML(server.authority()), fmt.Sprintf(given, s.Namespace)), "")
	for n := range parents {
		s.thing(name, fmt.Sprint(name, "-", n))
	}
	for n := 1; n <= 1+rotations; n++ {
		before := server.called()
		s.secret(name, data(n))
		cluster.Eventually(s.T, env.Timeout, func() error {
			if valid.Load() != int64(n) || server.called() < before+callsBetween {
				return fmt.Errorf("token %d is in use, after %d calls", valid.Load(), server.called()-before)
			}
			return nil
		})
	}
	metrics, err := s.Libretto().Metrics(s.T.Context())
	if err != nil {
		s.T.Fatal(err)
	}
	all := metrics.Sum("libretto_hook_duration_seconds", hookOf(definition))
	good := metrics.Sum("libretto_hook_duration_seconds", hookOf(definition, "outcome", "success"))
	s.T.Logf("%v calls, %d requests", all, server.called())
	if all != good || good < rotations*callsBetween {
		s.T.Errorf("of %v calls %v failed", all, all-good)
	}
}
