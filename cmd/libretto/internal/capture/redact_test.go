package capture

import (
	"context"
	"encoding/base64"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/livecluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
)

// noSchemas is an API server without schemas.
type noSchemas struct{}

func (noSchemas) Fetch(context.Context, string) ([]byte, error) { return []byte(`{"paths": {}}`), nil }

func object(apiVersion, kind string, fields map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: fields}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace("default")
	if o.GetName() == "" {
		o.SetName("one")
	}
	return o
}

// TestSecretsStayOut repeats secrets in all the ways in which scripts and hooks do.
func TestSecretsStayOut(t *testing.T) {
	const plain, inner, pin, made = "hunter2/hun ter2", "inner-pass-99", "p-98765", "made-by-script-1"
	encoded := base64.StdEncoding.EncodeToString
	secret := object("v1", "Secret", map[string]any{"data": map[string]any{
		"password": encoded([]byte(plain + "\n")), "word": encoded([]byte("correcthorse")),
		"docker": encoded([]byte(`{"auths": {"r": {"password": "` + inner + `"}}}`)),
	}})
	secret.SetAnnotations(map[string]string{
		"metacontroller.k8s.io/applied.00": "0123456789abcdef", "metacontroller.k8s.io/last-applied-configuration": plain,
	})
	wanted := object("v1", "Secret", map[string]any{"stringData": map[string]any{"made": made, "pin": pin}})
	reading := &livecluster.Reading{Parent: secret, Objects: []*unstructured.Unstructured{secret, wanted}}
	subject := &livecluster.Subject{Base: &stage.Base{Schemas: openapi.New(openapi.Config{
		API: noSchemas{}, Interval: time.Hour, Timeout: time.Minute, Clock: clock.RealClock{}, Log: logr.Discard(),
	})}}
	r := newRedaction(t.Context(), []Case{{Subject: subject, Reading: reading}})
	find := func(schema.GroupVersionKind) *openapi.Kind { return nil }
	for name, text := range map[string]string{
		"as it is": plain, "part of a text": "Bearer " + plain, "in JSON": `{"a":"` + plain + `"}`, "in YAML": "token: " + plain,
		"in base64, trimmed": encoded([]byte(plain)), "in base64 for URLs": base64.RawURLEncoding.EncodeToString([]byte(plain)),
		"in a URL": "https://u:" + url.QueryEscape(plain) + "@h", "in a path": "/" + url.PathEscape(plain),
		"as encodeURIComponent has it": "hunter2%2Fhun%20ter2", "of a registry": "x " + inner, "that a hook made": "const a = '" + made + "-2'",
		"that a hook copied": pin, "a word that is all of a string": `"correcthorse"`,
	} {
		o := object("v1", "ConfigMap", map[string]any{"data": map[string]any{"k": text, "k-" + inner: "name"}})
		for place, clean := range map[string]*unstructured.Unstructured{
			"in a child": r.object(o, find), "in a script": r.source(o), "in the Secret": r.object(secret, find),
		} {
			out, err := yaml.Marshal(clean.Object)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range []string{text, plain, inner, pin, made, "hunter2", "correcthorse", "0123456789abcdef"} {
				if strings.Contains(string(out), part) && !strings.HasPrefix(part, `"`) {
					t.Errorf("%s, %s: %q is left:\n%s", name, place, part, out)
				}
			}
		}
	}
	if problems := r.problems(); len(problems) != 0 {
		t.Errorf("problems: %v", problems)
	}
	r.source(object("v1", "ConfigMap", map[string]any{"data": map[string]any{"sync.js": "let correcthorse = 1"}}))
	if problems := r.problems(); len(problems) != 1 || !strings.HasPrefix(problems[0], "ConfigMap default/one repeats a word") {
		t.Errorf("a word that is left is not reported: %v", problems)
	}
}
