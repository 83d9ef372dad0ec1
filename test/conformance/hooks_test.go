package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/engines"
)

// Extensions of hook files for all engines: a constant answer, and a raw HTTP response.
const (
	constant = ".json"
	verbatim = ".http"
)

// constants are formats of scripts that return a constant answer.
var constants = map[string]string{
	"JavaScript": "export default () => (%s)",
	"Jsonnet":    "function(request) %s",
	"CEL":        "%s",
}

// scripted reports whether an engine runs scripts and does not call webhooks.
func scripted(definition engines.Definition) bool { return len(definition.Extensions) > 0 }

// missing returns a hook that an engine can't run, or "".
func (c *testCase) missing(definition engines.Definition) string {
	for _, hook := range slices.Sorted(maps.Keys(c.hooks)) {
		if scripted(definition) {
			if _, ok := c.script(hook, definition); !ok {
				return hook
			}
		} else if !c.servable(hook) {
			return hook
		}
	}
	return ""
}

// script returns a hook's script for an engine.
func (c *testCase) script(hook string, definition engines.Definition) (*engines.Script, bool) {
	if slices.Contains(c.webhookOnly(), hook) {
		return nil, false
	}
	for _, extension := range definition.Extensions {
		if text, ok := c.hooks[hook][extension]; ok {
			return scriptOf(hook+extension, text), true
		}
	}
	text, ok := c.hooks[hook][constant]
	if format := constants[definition.Name]; ok && format != "" {
		return scriptOf(hook+definition.Extensions[0], fmt.Sprintf(format, strings.TrimSpace(text))), true
	}
	return nil, false
}

func scriptOf(name, text string) *engines.Script {
	return &engines.Script{Path: name, Files: map[string]string{name: text}, Signature: engines.Request}
}

// webhookOnly returns the hooks that have a raw HTTP response.
func (c *testCase) webhookOnly() []string {
	var only []string
	for hook, texts := range c.hooks {
		if _, ok := texts[verbatim]; ok {
			only = append(only, hook)
		}
	}
	return only
}

// programs compiles the hooks for an engine and sets them in the definition. The server of webhooks is
// closed with t.
func (c *testCase) programs(
	t *testing.T, definition engines.Definition, registry *engines.Registry, object *unstructured.Unstructured,
) (map[string]engines.Program, error) {
	engine, err := registry.ByName(definition.Name)
	if err != nil {
		return nil, err
	}
	var server *httptest.Server
	if !scripted(definition) {
		if server, err = c.serve(t, registry); err != nil {
			return nil, err
		}
	}
	programs := map[string]engines.Program{}
	for hook := range c.hooks {
		source, backend := c.source(hook, definition, server)
		if programs[hook], err = engine.Compile(context.Background(), source); err != nil {
			return nil, fmt.Errorf("%s: %w", hook, err)
		}
		if server != nil {
			programs[hook] = withoutAddress{programs[hook]}
		}
		if err := setBackend(object, hook, backend); err != nil {
			return nil, err
		}
	}
	return programs, nil
}

// source returns a hook's source, and its entry in the definition.
func (c *testCase) source(hook string, definition engines.Definition, server *httptest.Server) (engines.Source, map[string]any) {
	if server != nil {
		url := server.URL + "/" + hook
		return engines.Source{Hook: hook, Endpoint: &engines.Endpoint{URL: url}}, map[string]any{"webhook": map[string]any{"url": url}}
	}
	script, _ := c.script(hook, definition)
	return engines.Source{Hook: hook, Script: script},
		map[string]any{"script": map[string]any{"engine": definition.Name, "inline": script.Files[script.Path]}}
}

// setBackend completes a hook of the definition. It keeps the version and webhook settings of the case.
func setBackend(object *unstructured.Unstructured, hook string, backend map[string]any) error {
	given, _, err := unstructured.NestedMap(object.Object, "spec", "hooks", hook)
	if err != nil {
		return err
	}
	if given == nil {
		given = map[string]any{}
	}
	settings, _ := given["webhook"].(map[string]any)
	delete(given, "webhook")
	for kind, fields := range backend {
		fields := fields.(map[string]any)
		if kind == "webhook" {
			maps.Copy(fields, settings)
		}
		given[kind] = fields
	}
	return unstructured.SetNestedMap(object.Object, given, "spec", "hooks", hook)
}

// withoutAddress is a webhook whose errors lack the address of the test's server, whose port varies.
type withoutAddress struct{ engines.Program }

var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+/\w+: `)

// Run makes the call.
func (p withoutAddress) Run(ctx context.Context, call engines.Call) (engines.Response, error) {
	response, err := p.Program.Run(ctx, call)
	var e *engines.Error
	if errors.As(err, &e) {
		stable := *e
		stable.Message = address.ReplaceAllString(e.Message, "")
		err = &stable
	}
	return response, err
}
