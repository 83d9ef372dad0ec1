package page

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// TestHandler checks that the page is at /, that all that it names is served, and that a browser keeps it.
func TestHandler(t *testing.T) {
	handler, err := Handler()
	if err != nil {
		t.Fatal(err)
	}
	get := func(path, etag string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("If-None-Match", etag)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	index := get("/", "")
	if index.Code != http.StatusOK || !strings.Contains(index.Body.String(), "<title>Libretto dev</title>") {
		t.Fatalf("/ answers %d: %s", index.Code, index.Body)
	}
	named := regexp.MustCompile(`(?:src|href)="(/[^"]+)"`).FindAllStringSubmatch(index.Body.String(), -1)
	if len(named) < 3 {
		t.Errorf("/ names %q: want the script, the style and the icon", named)
	}
	for _, match := range append(named, []string{"", "/"}) {
		first := get(match[1], "")
		if first.Code != http.StatusOK || first.Body.Len() == 0 {
			t.Errorf("%s answers %d", match[1], first.Code)
		}
		policy := first.Header().Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s has the policy %q", match[1], policy)
		}
		if again := get(match[1], first.Header().Get("ETag")); again.Code != http.StatusNotModified || again.Body.Len() != 0 {
			t.Errorf("%s answers %d with %d bytes to its own ETag", match[1], again.Code, again.Body.Len())
		}
	}
	if strings.Contains(index.Body.String(), "style=") || regexp.MustCompile(`<script[^>]*>[^<]`).MatchString(index.Body.String()) {
		t.Error("/ has what the policy refuses: a script or a style within the page")
	}
	if w := get("/src/main.ts", ""); w.Code != http.StatusNotFound {
		t.Errorf("/src/main.ts answers %d", w.Code)
	}
	post := httptest.NewRecorder()
	handler.ServeHTTP(post, httptest.NewRequest(http.MethodPost, "/", nil))
	if post.Code != http.StatusMethodNotAllowed {
		t.Errorf("a POST is answered with %d", post.Code)
	}
}
