package api

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// applyShortSchemas applies what libretto crd makes of a file among the tests of the command.
func applyShortSchemas(e *env.Env, file string) {
	e.T.Helper()
	program, err := cluster.Binary("libretto")
	e.NoError(err)
	root, err := cluster.Root()
	e.NoError(err)
	text, err := os.ReadFile(filepath.Join(root, "cmd", "libretto", "internal", "crd", "testdata", file))
	e.NoError(err)
	command := exec.CommandContext(e.T.Context(), program, "crd", "-")
	command.Stdin = bytes.NewReader(bytes.ReplaceAll(text, []byte("example.com"), []byte(e.Group)))
	var errs bytes.Buffer
	command.Stderr = &errs
	made, err := command.Output()
	if err != nil {
		e.T.Fatalf("%v: %s", err, errs.Bytes())
	}
	e.Apply(string(made))
}

// TestShortSchema checks that the API server accepts what libretto crd makes, and that it does what the schema says.
func TestShortSchema(t *testing.T) {
	e := env.New(t)
	applyShortSchemas(e, "previews.yaml")
	applyShortSchemas(e, "webapp.yaml")
	apps := e.In(schema.GroupVersionResource{Group: e.Group, Version: "v1", Resource: "webapps"})
	t.Run("refused", func(t *testing.T) { testShortSchemaRefuses(e.WithT(t), apps) })

	object := webApp(e, "x", "{image: nginx, class: small, ingress: {host: a}}")
	created, err := apps.Create(t.Context(), object, metav1.CreateOptions{})
	env.NoError(t, err)
	want := e.Parse(`{image: nginx, class: small, ingress: {host: a, tls: false}, replicas: 1, port: 8080, mode: info, range: {min: 0, max: 10}}`)
	if diff := cmp.Diff(want.Object, created.Object["spec"]); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	for patch, part := range map[string]string{
		`{"spec": {"class": "large"}}`:         "is immutable",
		`{"spec": {"class": null}}`:            "class is immutable: it can be set at the creation only",
		`{"spec": {"range": {"min": 11}}}`:     "min is at most max",
		`{"spec": {"range": {"min": "many"}}}`: "must be of type integer",
	} {
		if _, err := apps.Patch(t.Context(), "x", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v, want %s", patch, err, part)
		}
	}
	const status = `{"status": {"replicas": 1, "observedGeneration": 1, "lost": true,
		"conditions": [{"type": "Ready", "status": "True", "reason": "Ready", "message": ""}]}}`
	written, err := apps.Patch(t.Context(), "x", types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status")
	env.NoError(t, err)
	if _, has, _ := unstructured.NestedFieldNoCopy(written.Object, "status", "lost"); has {
		t.Error("the status has a field that the schema has not")
	}
	scale, err := apps.Get(t.Context(), "x", metav1.GetOptions{}, "scale")
	env.NoError(t, err)
	if replicas, _, _ := unstructured.NestedInt64(scale.Object, "spec", "replicas"); replicas != 1 {
		t.Errorf("the scale has %d replicas", replicas)
	}
	if got := e.Kubectl("get", "webapps", "x", "-n", e.Namespace); !strings.Contains(got, "NAME") || !strings.Contains(got, "REPLICAS") ||
		!strings.Contains(got, "READY") || strings.Contains(got, "URL") || !strings.Contains(got, "True") {
		t.Errorf("kubectl get:\n%s", got)
	}
}

// testShortSchemaRefuses creates objects that the schema does not allow.
func testShortSchemaRefuses(e *env.Env, apps dynamic.ResourceInterface) {
	for name, c := range map[string]struct{ spec, want string }{
		"required":         {"{}", "spec.image: Required value"},
		"required, nested": {"{image: a, ingress: {}}", "spec.ingress.host: Required value"},
		"minLength":        {`{image: ""}`, "spec.image"},
		"maximum":          {"{image: a, replicas: 11}", "spec.replicas"},
		"minimum":          {"{image: a, ports: [0]}", "spec.ports[0]"},
		"enum":             {"{image: a, mode: loud}", "spec.mode: Unsupported value"},
		"set":              {"{image: a, tags: [b, b]}", "spec.tags[1]: Duplicate value"},
		"CEL":              {"{image: a, range: {min: 20}}", "min is at most max"},
		"type":             {"{image: a, labels: {b: 1}}", "spec.labels.b"},
		"intOrString":      {"{image: a, target: true}", "spec.target"},
	} {
		e.T.Run(name, func(t *testing.T) {
			_, err := apps.Create(t.Context(), webApp(e, "refused", c.spec), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

func webApp(e *env.Env, name, spec string) *unstructured.Unstructured {
	return e.Parse("{apiVersion: " + e.Group + "/v1, kind: WebApp, metadata: {name: " + name + "}, spec: " + spec + "}")
}
