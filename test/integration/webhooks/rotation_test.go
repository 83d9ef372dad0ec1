package webhooks

import (
	"errors"
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
	e := env.NewRunning(t)
	server := serve(t, plain)
	stranger, _ := clientCertificate(t, "libretto")
	trust := func(authority string) {
		e.Apply(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: authority}, data: {ca.crt: %s}}", env.Quote(authority)))
	}
	trust(stranger)
	define(e, "authority", fmt.Sprintf("{webhook: {url: %q, caBundle: {configMapRef: {namespace: %s, name: authority}}}}", server.URL,
		e.Namespace), "resyncPeriodSeconds: 1")
	applyThing(e, "authority", "before")
	e.WaitForEvent("before", "SyncError", "in caBundle")
	trust(server.authority())
	waitForValue(e, "before", "yes")
	trust(stranger)
	applyThing(e, "authority", "after")
	e.WaitForEvent("after", "SyncError", "in caBundle")
	server.says(wanting("no"))
	cluster.Consistently(t, 2*time.Second, func() error {
		if child := e.Get(env.ConfigMaps, "before"); child.Object["data"].(map[string]any)["value"] != "yes" {
			return errors.New("a server that is not trusted was heard")
		}
		return nil
	})
}

// TestRotationUnderLoad rotates what the server is shown while many parents call, and has the server refuse the old one as
// soon as it has seen the new one: no call may fail.
func TestRotationUnderLoad(t *testing.T) {
	e := env.NewRunning(t)
	t.Run("token", func(t *testing.T) {
		sent := func(r *http.Request) string { return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") }
		rotateUnderLoad(e.WithT(t), "token", plain, sent, "authorization: {secretRef: {namespace: %s, name: token, key: token}}",
			func(n int) map[string]string {
				return map[string]string{"token": fmt.Sprint("token-", n)}
			})
	})
	t.Run("certificate", func(t *testing.T) {
		sent := func(r *http.Request) string { return r.TLS.PeerCertificates[0].Subject.CommonName }
		rotateUnderLoad(e.WithT(t), "certificate", showing, sent, "clientTLS: {secretRef: {namespace: %s, name: certificate}}",
			func(n int) map[string]string {
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
func rotateUnderLoad(e *env.Env, name string, edit func(*httptest.Server), shown func(*http.Request) string, given string,
	data func(n int) map[string]string) {
	e.T.Helper()
	const parents, rotations, callsBetween = 20, 5, 100
	var valid atomic.Int64
	server := serve(e.T, edit)
	server.says(func(w http.ResponseWriter, r *http.Request) {
		var sent int64
		_, err := fmt.Sscanf(shown(r), "token-%d", &sent)
		if latest := newest(&valid, sent); err != nil || sent < latest {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"children": [], "resyncAfterSeconds": 0.1}`)
	})
	applySecret(e, name, data(1))
	definition := define(e, name, fmt.Sprintf("{webhook: {url: %q, caBundle: {inline: %s}, %s}}", server.URL, env.Quote(server.authority()),
		fmt.Sprintf(given, e.Namespace)), "")
	for n := range parents {
		applyThing(e, name, fmt.Sprint(name, "-", n))
	}
	for n := 1; n <= 1+rotations; n++ {
		before := server.called()
		applySecret(e, name, data(n))
		e.Eventually(func() error {
			if valid.Load() != int64(n) || server.called() < before+callsBetween {
				return fmt.Errorf("token %d is in use, after %d calls", valid.Load(), server.called()-before)
			}
			return nil
		})
	}
	metrics := e.Metrics()
	all := metrics.Sum("libretto_definition_hook_duration_seconds", hookOf(definition))
	good := metrics.Sum("libretto_definition_hook_duration_seconds", hookOf(definition, "outcome", "success"))
	e.T.Logf("%v calls, %d requests", all, server.called())
	if all != good || good < rotations*callsBetween {
		e.T.Errorf("of %v calls %v failed", all, all-good)
	}
}
