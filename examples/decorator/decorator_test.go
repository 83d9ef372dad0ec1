// Package decorator_test runs the script of decorator.yaml.
package decorator_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/test/example"
)

type object = map[string]any

// set is a StatefulSet with the annotation.
func set(ports string, spec object) object {
	return object{"metadata": object{"name": "web", "annotations": object{"ctl.example.com/pod-services": ports}}, "spec": spec}
}

func service(pod string, ports ...int64) object {
	var list []any
	for _, port := range ports {
		list = append(list, object{"name": map[int64]string{80: "port-80", 443: "port-443"}[port], "port": port})
	}
	return object{
		"apiVersion": "v1", "kind": "Service", "metadata": object{"name": pod},
		"spec": object{"selector": object{"statefulset.kubernetes.io/pod-name": pod}, "ports": list},
	}
}

func TestHooks(t *testing.T) {
	cases := map[string]struct {
		reason  string
		hook    string
		request object
		want    object
		fails   string
	}{
		"PerPod": {
			reason: "each Pod gets a Service",
			hook:   "sync", request: object{"object": set("80", object{"replicas": int64(2)})},
			want: object{"attachments": []any{service("web-0", 80), service("web-1", 80)}},
		},
		"Ports": {
			reason: "the annotation lists ports, with blanks or without",
			hook:   "sync", request: object{"object": set("80, 443", object{"replicas": int64(1)})},
			want: object{"attachments": []any{service("web-0", 80, 443)}},
		},
		"Ordinals": {
			reason: "Pods are numbered from where the StatefulSet says",
			hook:   "sync", request: object{"object": set("80", object{"replicas": int64(1), "ordinals": object{"start": int64(5)}})},
			want: object{"attachments": []any{service("web-5", 80)}},
		},
		"None": {
			reason: "without Pods there are no Services",
			hook:   "sync", request: object{"object": set("80", object{"replicas": int64(0)})},
			want: object{"attachments": []any{}},
		},
		"NoPort": {
			reason: "what is no port is told, and changes nothing",
			hook:   "sync", request: object{"object": set("80,https", object{"replicas": int64(1)})},
			fails: `"https" is no port`,
		},
		"Empty": {
			reason: "an empty annotation is no port either",
			hook:   "sync", request: object{"object": set("", object{"replicas": int64(1)})},
			fails: `"" is no port`,
		},
		"Finalize": {
			reason: "the Services go with the annotation",
			hook:   "finalize", request: object{"object": set("80", object{"replicas": int64(2)})},
			want: object{"attachments": []any{}, "finalized": true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			response, err := example.Hook(t, "decorator.yaml", tc.hook, nil).Run(t.Context(), engines.Call{Request: tc.request})
			switch {
			case tc.fails == "" && err != nil:
				t.Fatalf("%s: %s(...): %v", tc.reason, tc.hook, err)
			case tc.fails != "" && (err == nil || !strings.Contains(err.Error(), tc.fails)):
				t.Fatalf("%s: %s(...): error %v, want one with %q", tc.reason, tc.hook, err, tc.fails)
			case tc.fails != "":
				return
			}
			if diff := cmp.Diff(tc.want, response.Body); diff != "" {
				t.Errorf("%s: %s(...): -want, +got:\n%s", tc.reason, tc.hook, diff)
			}
		})
	}
}
