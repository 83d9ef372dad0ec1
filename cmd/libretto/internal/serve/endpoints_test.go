package serve

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestReadiness checks that a process is ready before it leads, unless its folder can't be read.
func TestReadiness(t *testing.T) {
	p := &probes{}
	check := func(code int, text string) {
		t.Helper()
		answer := httptest.NewRecorder()
		p.handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		if answer.Code != code || !strings.Contains(answer.Body.String(), text) {
			t.Errorf("%d: %s, want %d: %s", answer.Code, answer.Body, code, text)
		}
	}
	check(http.StatusOK, "ok")
	var folder, definitions error
	p.setFolderCheck(func() error { return folder })
	folder = errors.New("a.yaml:1: broken")
	check(http.StatusServiceUnavailable, "a.yaml:1: broken")
	folder = nil
	check(http.StatusOK, "ok")
	p.setCheck(func() error { return definitions })
	definitions = errors.New("not listed yet")
	check(http.StatusServiceUnavailable, "not listed yet")
	definitions = nil
	p.setWaits(func() string { return "others work" })
	check(http.StatusOK, "ok\nwaiting: others work")
}
