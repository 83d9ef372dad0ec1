package apply

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/libretto-k8s/libretto/apply/applytest"
)

// TestUnknownFields writes many objects at the same time, and looks which warning each is given.
func TestUnknownFields(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, name, _ := strings.Cut(string(body), `"name":"`)
		name, _, _ = strings.Cut(name, `"`)
		if name == "known" {
			w.Header().Add("Warning", `299 - "v1 Pod is going to be removed"`)
		} else {
			w.Header().Add("Warning", fmt.Sprintf(`299 - "unknown field \"spec.%s\""`, name))
			w.Header().Add("Warning", fmt.Sprintf(`299 - "unknown field \"spec.%s\""`, name))
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": %q}}`, path.Base(name))
	}))
	t.Cleanup(server.Close)
	client, err := dynamic.NewForConfig(&rest.Config{Host: server.URL, QPS: -1, WarningHandlerWithContext: WarningHandler{}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"known": nil}
	changes := []Change{{Action: ActionCreate, Resource: podRule.Resource, Object: object(podRule, "known")}}
	for i := range 50 {
		name := fmt.Sprintf("p%d", i)
		changes = append(changes, Change{Action: ActionCreate, Resource: podRule.Resource, Object: object(podRule, name)})
		want[name] = []string{"spec." + name}
	}
	got := map[string][]string{}
	for _, o := range Execute(t.Context(), client, changes, Options{Parallel: 8}) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		got[o.Change.Object.GetName()] = o.Unknown
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestMeantField(t *testing.T) {
	kind := applytest.Kinds(t, "merge/testdata")[podRule.Kind]
	if kind == nil {
		t.Fatal("there is no schema of Pods")
	}
	cases := map[string]string{
		"spec.nodeNam":               "did you mean nodeName?",
		"spec.containers[0].imagge":  "did you mean image?",
		"spec.containers[12].ports0": "did you mean ports?",
		"spc":                        "did you mean spec?",
		"spec.zebra":                 "",
		"nothing.here":               "",
		"metadata.labels.a.b":        "",
		"":                           "",
	}
	for path, want := range cases {
		if got := MeantField(kind, path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
		if got := MeantField(nil, path); got != "" {
			t.Errorf("%q without a schema: %q", path, got)
		}
	}
}

func TestDropped(t *testing.T) {
	cases := map[string]struct {
		reason, object string
		want           []string
	}{
		"None":    {"all fields are known, and labels have any name", `{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {x: y}}, spec: {nodeName: n}}`, nil},
		"Root":    {"a field of the object", `{apiVersion: v1, kind: Pod, spc: {a: {b: 1}}}`, []string{"spc"}},
		"Null":    {"null is as good as absent", `{apiVersion: v1, kind: Pod, spc: null}`, nil},
		"Items":   {"fields of items have their number", `{apiVersion: v1, kind: Pod, spec: {containers: [{name: a}, {name: b, imagee: c}], nodeNam: d}}`, []string{"spec.containers[1].imagee", "spec.nodeNam"}},
		"Another": {"a value of another type is no field", `{apiVersion: v1, kind: Pod, spec: [{containers: 1}]}`, nil},
	}
	kind := applytest.Kinds(t, "merge/testdata")[podRule.Kind]
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, kind.Dropped(applytest.Parse(t, []byte("---\n"+tc.object)).Object)); diff != "" {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRefusedField(t *testing.T) {
	cases := map[string]string{
		`failed to create typed patch object (default/x; /v1, Kind=ConfigMap): .dta: field not declared in schema`:                             "dta",
		`failed to create typed patch object (d/x; apps/v1, Kind=Deployment): .spec.containers[name="d"].imagee: field not declared in schema`: `spec.containers[name="d"].imagee`,
		`failed to create typed patch object (d/x; /v1, Kind=ConfigMap): .data.a: expected string, got &value.valueUnstructured{Value:1}`:      "",
		`.dta: field not declared in schema`: "",
	}
	for text, want := range cases {
		if got := (Result{Err: errors.New(text)}).RefusedField(); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if got := (Result{}).RefusedField(); got != "" {
		t.Errorf("without an error: %q", got)
	}
}
