package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
)

// The engines.
const (
	engineJavaScript = "javascript"
	engineJsonnet    = "jsonnet"
	engineCEL        = "cel"
	engineWebhook    = "webhook"
	engineNone       = "none"
)

var engineNames = []string{engineJavaScript, engineJsonnet, engineCEL, engineWebhook, engineNone}

// script is a hook that reads of the parent its name and its spec, and of the children how many there are.
type script struct {
	engine string // As definitions have it.
	file   string // The name of a file in this language.
	text   string
	// touched is the same hook, which reads an annotation as well: paused if that says so.
	touched string
	// finalize is what follows the text if the hook finalize is in the same file. In languages with one function in a file it is the same one.
	finalize string
}

// scripts are the hook in each language.
var scripts = map[string]script{
	engineJavaScript: {
		engine: "JavaScript",
		file:   "hook.js",
		text: `export function sync({ parent, children }) {
  const { children: names, payload } = parent.spec;
  return {
    status: { children: Object.keys(children["ConfigMap.v1"]).length },
    children: names.map((name) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: parent.metadata.name + "-" + name },
      data: { config: "# " + name + "\n" + payload },
    })),
  };
}
`,
		finalize: `export function finalize() {
  return { finalized: true, children: [] };
}
`,
		touched: `export function sync({ parent, children }) {
  const { children: names, payload } = parent.spec;
  const paused = parent.metadata.annotations?.["` + touchAnnotation + `"] === "paused";
  return {
    status: { children: Object.keys(children["ConfigMap.v1"]).length },
    children: paused ? Object.values(children["ConfigMap.v1"]) : names.map((name) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: parent.metadata.name + "-" + name },
      data: { config: "# " + name + "\n" + payload },
    })),
  };
}
`,
	},
	engineJsonnet: {
		engine: "Jsonnet",
		file:   "hook.jsonnet",
		text: `function(request) {
  status: { children: std.length(request.children['ConfigMap.v1']) },
  children: [{
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: request.parent.metadata.name + '-' + name },
    data: { config: '# ' + name + '\n' + request.parent.spec.payload },
  } for name in request.parent.spec.children],
}
`,
		touched: `function(request)
  local annotations = std.get(request.parent.metadata, 'annotations', {});
  local paused = std.get(annotations, '` + touchAnnotation + `', '') == 'paused';
  {
    status: { children: std.length(request.children['ConfigMap.v1']) },
    children: if paused then std.objectValues(request.children['ConfigMap.v1']) else [{
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: request.parent.metadata.name + '-' + name },
      data: { config: '# ' + name + '\n' + request.parent.spec.payload },
    } for name in request.parent.spec.children],
  }
`,
	},
	engineCEL: {
		engine:  "CEL",
		file:    "hook.cel",
		text:    celHook(`parent.spec.children`),
		touched: celHook(`(parent.metadata.?annotations[?'` + touchAnnotation + `'].orValue('') == 'paused' ? [] : parent.spec.children)`),
	},
}

// forTenant returns the hook with a comment of its own.
func (s script) forTenant(name string) string {
	comment := "// "
	if s.engine == scripts[engineJsonnet].engine {
		comment = "# "
	}
	return comment + name + "\n" + s.text + s.finalize
}

// celHook is the expression, with another for the names of the children.
func celHook(names string) string {
	return `{
  'status': dyn({'children': size(children['ConfigMap.v1'])}),
  'children': dyn(` + names + `.map(name, {
    'apiVersion': dyn('v1'),
    'kind': dyn('ConfigMap'),
    'metadata': dyn({'name': parent.metadata.name + '-' + name}),
    'data': dyn({'config': '# ' + name + '\n' + parent.spec.payload}),
  })),
}
`
}

// hook returns a definition's hook. address is that of the webhook.
func hook(engine string, touched bool, address string) map[string]any {
	if engine == engineWebhook {
		return map[string]any{"webhook": map[string]any{"url": "http://" + address + "/sync"}}
	}
	text := scripts[engine].text
	if touched {
		text = scripts[engine].touched
	}
	return map[string]any{"version": "v2", "script": map[string]any{"engine": scripts[engine].engine, "inline": text}}
}

// webhook serves the hook, as a program in Go would.
type webhook struct {
	listener net.Listener
	calls    atomic.Int64
}

func startWebhook() (*webhook, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	w := &webhook{listener: listener}
	go func() { _ = http.Serve(listener, w) }() // It ends when the listener is closed.
	return w, nil
}

func (w *webhook) address() string { return w.listener.Addr().String() }

func (w *webhook) stop() error {
	if err := w.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("webhook: %w", err)
	}
	return nil
}

// syncRequest is what the hook reads of a request.
type syncRequest struct {
	Parent struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Spec parentSpec `json:"spec"`
	} `json:"parent"`
	Children map[string]map[string]json.RawMessage `json:"children"`
}

type parentSpec struct {
	Children []string `json:"children"`
	Payload  string   `json:"payload"`
}

// ServeHTTP answers a call.
func (w *webhook) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	w.calls.Add(1)
	var call syncRequest
	if err := json.NewDecoder(request.Body).Decode(&call); err != nil {
		http.Error(response, err.Error(), http.StatusBadRequest)
		return
	}
	children := make([]any, 0, len(call.Parent.Spec.Children))
	for _, name := range call.Parent.Spec.Children {
		children = append(children, child(call.Parent.Metadata.Name, name, call.Parent.Spec.Payload))
	}
	response.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(response).Encode(map[string]any{ // A host that does not wait for the answer reports that itself.
		"status":   map[string]any{"children": len(call.Children["ConfigMap.v1"])},
		"children": children,
	})
}

// child is one that the hook asks for.
func child(parent, name, payload string) map[string]any {
	return map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata":   map[string]any{"name": parent + "-" + name},
		"data":       map[string]any{"config": "# " + name + "\n" + payload},
	}
}

// isScript reports whether hooks of the engine are scripts.
func isScript(engine string) bool {
	return !slices.Contains([]string{engineWebhook, engineNone}, engine)
}
