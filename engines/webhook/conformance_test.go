package webhook

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
)

func TestConformance(t *testing.T) {
	const noSource = "a webhook has no source here that a place could be in"
	enginetest.Run(t, enginetest.Suite{
		Definition: Definition(),
		Source:     source,
		Exempt: map[string]string{
			"place of a failure": noSource,
			"place of an error":  noSource,
			"not time dependent": "nobody here knows what the far side looks at, so every answer may depend on the time",
			"no state":           "what the far side keeps is its own matter",
		},
	})
}

func source(t testing.TB, hook enginetest.Hook) engines.Source {
	if hook == enginetest.Invalid {
		return endpoint("ftp://example.com/sync")
	}
	server := httptest.NewServer(answering(hook))
	t.Cleanup(server.Close)
	return endpoint(server.URL + "/sync")
}

func endpoint(url string) engines.Source {
	return engines.Source{Hook: "sync", Endpoint: &engines.Endpoint{URL: url}}
}

// answering serves a hook of the suite.
func answering(hook enginetest.Hook) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if hook == enginetest.Never {
			<-r.Context().Done()
			return
		}
		request := map[string]any{}
		if err := utiljson.Unmarshal(body, &request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer, err := enginetest.Reference(hook, request)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	}
}
