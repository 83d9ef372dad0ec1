package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/engines"
)

// servingEngine is the engine that answers webhooks if a case has only a script.
const servingEngine = "JavaScript"

// servable reports whether a server can answer a hook.
func (c *testCase) servable(hook string) bool {
	for _, extension := range []string{verbatim, constant, ".js"} {
		if _, ok := c.hooks[hook][extension]; ok {
			return true
		}
	}
	return false
}

// serve starts a server that answers each hook at its own path.
func (c *testCase) serve(t *testing.T, registry *engines.Registry) (*httptest.Server, error) {
	mux := http.NewServeMux()
	for hook := range c.hooks {
		handler, err := c.handler(hook, registry)
		if err != nil {
			return nil, err
		}
		mux.Handle("/"+hook, handler)
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server, nil
}

func (c *testCase) handler(hook string, registry *engines.Registry) (http.Handler, error) {
	texts := c.hooks[hook]
	if text, ok := texts[verbatim]; ok {
		return answerVerbatim(text), nil
	}
	if text, ok := texts[constant]; ok {
		return answerVerbatim("HTTP/1.1 200 OK\n\n" + text), nil
	}
	engine, err := registry.ByName(servingEngine)
	if err != nil {
		return nil, err
	}
	program, err := engine.Compile(context.Background(), engines.Source{Hook: hook, Script: scriptOf(hook+".js", texts[".js"])})
	return answerWith(program), err
}

// answerVerbatim returns a handler that sends text: a status line, headers, an empty line and a body.
func answerVerbatim(text string) http.Handler {
	head, body, _ := strings.Cut(strings.TrimSuffix(text, "\n"), "\n\n")
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		raw := strings.ReplaceAll(head, "\n", "\r\n") + fmt.Sprintf("\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		response, err := http.ReadResponse(bufio.NewReader(strings.NewReader(raw)), request)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer func() { _ = response.Body.Close() }()
		maps.Copy(w.Header(), response.Header)
		w.WriteHeader(response.StatusCode)
		_, _ = io.Copy(w, response.Body)
	})
}

// answerWith returns a handler that runs a program on the request's body.
func answerWith(program engines.Program) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		answer, err := runOn(request, program)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(answer)
	})
}

func runOn(request *http.Request, program engines.Program) ([]byte, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	call := engines.Call{Now: controllertest.DefaultNow}
	if err := utiljson.Unmarshal(body, &call.Request); err != nil {
		return nil, err
	}
	response, err := program.Run(request.Context(), call)
	if err != nil {
		return nil, err
	}
	return json.Marshal(response.Body)
}
