package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestSameAsScript runs the cases that call the hook alone, with which libretto test runs sync.js, on the service.
func TestSameAsScript(t *testing.T) {
	text, err := os.ReadFile("../fallback_test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Name, Hook        string
			Request, Response map[string]any
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, c := range file.Cases {
		if c.Hook != "sync" {
			continue
		}
		tried++
		t.Run(c.Name, func(t *testing.T) {
			request, err := json.Marshal(c.Request)
			if err != nil {
				t.Fatal(err)
			}
			recorder := post(string(request))
			var got map[string]any
			if err := json.Unmarshal(recorder.Body.Bytes(), &got); err != nil || recorder.Code != http.StatusOK {
				t.Fatalf("%d %s: %v", recorder.Code, recorder.Body, err)
			}
			if diff := cmp.Diff(c.Response, got); diff != "" {
				t.Errorf("-script +service\n%s", diff)
			}
		})
	}
	if tried < 4 {
		t.Errorf("%d cases call the hook, want four at least", tried)
	}
}

// TestInvalidRequest checks that what is no request is refused with the reason.
func TestInvalidRequest(t *testing.T) {
	recorder := post(`{"parent": {"spec": {"weeks": "many"}}}`)
	if recorder.Code != http.StatusBadRequest || !strings.Contains(recorder.Body.String(), "weeks") {
		t.Errorf("%d %s, want 400 with the name of the field", recorder.Code, recorder.Body)
	}
}

func post(body string) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	newHandler().ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/sync", strings.NewReader(body)))
	return recorder
}
