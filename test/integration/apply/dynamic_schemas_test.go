package apply

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/discovery"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// recorded are the kinds of the cases, by the document that has them.
var recorded = map[string][]string{
	"apis/apply.example.com/v1": {"Bare", "Plain", "Typed"},
	"api/v1": {"Pod", "Service", "ConfigMap", "Secret", "ServiceAccount", "PersistentVolumeClaim", "ResourceQuota",
		"LimitRange"},
	"apis/apps/v1":                      {"DaemonSet", "Deployment", "StatefulSet"},
	"apis/batch/v1":                     {"CronJob", "Job"},
	"apis/networking.k8s.io/v1":         {"Ingress", "NetworkPolicy"},
	"apis/rbac.authorization.k8s.io/v1": {"Role", "RoleBinding"},
	"apis/policy/v1":                    {"PodDisruptionBudget"},
	"apis/autoscaling/v2":               {"HorizontalPodAutoscaler"},
}

// TestRecordSchemas writes down, with -update, the parts of the API server's OpenAPI
// documents that package apply's own tests need.
func TestRecordSchemas(t *testing.T) {
	if !*update {
		t.Skip("records nothing without -update")
	}
	newDynamicEnv(t)
	r := recording{all: map[string]any{}, kept: map[string]any{}}
	for _, path := range slices.Sorted(maps.Keys(recorded)) {
		r.read(t, path)
	}
	env.NoError(t, os.WriteFile(testdata+"openapi.json", r.text(t), 0o644))
}

// recording is a document made of parts of others.
type recording struct {
	all, kept map[string]any
}

func (r *recording) read(t *testing.T, path string) {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(cluster.Get(t).Config)
	env.NoError(t, err)
	text, err := client.RESTClient().Get().AbsPath("/openapi/v3/" + path).Do(t.Context()).Raw()
	env.NoError(t, err)
	var document struct {
		Components struct{ Schemas map[string]any }
	}
	env.NoError(t, json.Unmarshal(text, &document))
	maps.Copy(r.all, document.Components.Schemas)
	for name := range document.Components.Schemas {
		if slices.Contains(recorded[path], name[strings.LastIndexByte(name, '.')+1:]) {
			r.keep(name)
		}
	}
}

// keep keeps a definition and all that it refers to.
func (r *recording) keep(name string) {
	if _, kept := r.kept[name]; kept {
		return
	}
	r.kept[name] = nil // It may refer to itself.
	r.kept[name] = r.brief(r.all[name])
}

// brief leaves out what is of no interest.
func (r *recording) brief(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, field := range value {
			if text, isText := field.(string); isText && name == "$ref" {
				r.keep(text[strings.LastIndexByte(text, '/')+1:])
			}
			_, isText := field.(string)
			_, isList := field.([]any)
			if isText && name == "description" || isList && (name == "enum" || name == "required") {
				continue
			}
			out[name] = r.brief(field)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i := range value {
			out[i] = r.brief(value[i])
		}
		return out
	}
	return value
}

// text writes one definition a line.
func (r *recording) text(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	out.WriteString("{\"components\": {\"schemas\": {\n")
	for i, name := range slices.Sorted(maps.Keys(r.kept)) {
		definition, err := json.Marshal(r.kept[name])
		env.NoError(t, err)
		if i > 0 {
			out.WriteString(",\n")
		}
		out.WriteString("\"" + name + "\": ")
		out.Write(definition)
	}
	out.WriteString("\n}}}\n")
	return out.Bytes()
}
