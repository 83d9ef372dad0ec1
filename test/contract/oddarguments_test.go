package contract

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

// validArguments are arguments that each function takes.
var validArguments = map[string]string{
	"groupKey": `["v1", "Pod"]`, "childKey": `[` + bare + `, ` + inA + `, "v2"]`, "objectsOf": `[` + groups + `, "v1", "Pod"]`,
	"findChild":     `[{"ConfigMap.v1": {}}, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}}, ` + inShop + `]`,
	"ownerName":     `[` + web + `]`,
	"matchesLabels": `[{"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}, {"a": "b"}]`,
	"findCondition": `[` + ready + `, "Ready"]`, "isConditionTrue": `[` + ready + `, "Ready"]`,
	"setCondition": `[[` + condition + `], {"type": "A", "status": "True"}, "now"]`, "isReady": `[` + claimA + `]`,
	"readyCondition": `[{"ConfigMap.v1": {}}, [` + mapA + `], ` + inShop + `, "Ready"]`, "waiting": `["A", "b"]`, "needs": `[` + claimA + `, "it"]`,
	"wantedOrdinals": `[[` + mapA + `], "web", 2]`, "inOrder": `[{"ConfigMap.v1": {}}, [[` + mapA + `]], ` + inShop + `]`,
	"tearDown": `[{"ConfigMap.v1": {}}, [[` + mapA + `]], ` + inShop + `]`, "ordinalOf": `["web-1", "web"]`, "hash": `[1]`,
	"childName": `["web", "a", 63]`, "hashedName": `["web", 1]`, "recommendedLabels": `[{"name": "a", "partOf": "b"}]`,
	"withLabels": `[` + mapA + `, {"a": "b"}]`, "merge": `[{"a": {}}, {"a": {"b": 1}}]`,
	"podSpec":     `[{"containers": [{"name": "a", "image": "b", "ports": [1], "env": {"A": "b"}}], "initContainers": []}]`,
	"pod":         `[{"name": "a", "namespace": "b", "labels": {}, "annotations": {}, "podSpec": {"containers": []}}]`,
	"deployment":  `[{"name": "a", "selector": {"a": "b"}, "replicas": 1, "podAnnotations": {}, "spec": {}, "podSpec": {"containers": []}}]`,
	"statefulSet": `[{"name": "a", "serviceName": "b", "labels": {"a": "b"}, "podSpec": {"containers": []}}]`,
	"job":         `[{"name": "a", "spec": {}, "podSpec": {"containers": []}}]`,
	"service":     `[{"name": "a", "selector": {"a": "b"}, "ports": [1, {"port": 2}], "spec": {}}]`,
	"configMap":   `[{"name": "a", "data": {"a": "b"}, "binaryData": {"a": "b"}, "immutable": true}]`, "parseQuantity": `["1"]`,
	"formatQuantity": `[1, "BinarySI"]`, "compareQuantities": `["1", "2"]`, "addQuantities": `["1", "2"]`, "parseDuration": `["1s"]`,
	"formatDuration": `[1]`, "encodeBase64": `["a"]`, "decodeBase64": `["YQ=="]`, "sha256": `["a"]`, "canonicalJSON": `[{"a": [1]}]`,
	"seededRandom": `[{"a": 1}]`, "parseYAML": `["a: 1"]`, "formatYAML": `[{"a": [1]}]`, "parseURL": `["http://a:1/b"]`,
	"compareVersions": `["1.2", "1.3"]`, "satisfiesVersion": `["1.2", "^1"]`, "nextTime": `["@daily", "2026-01-30T04:30:00Z"]`,
}

// oddValues are what arguments, and parts of them, are replaced by.
var oddValues = []string{
	`null`, `1.5`, `1e300`, `""`, `[null]`, `{}`, `{"metadata": {"name": 1}}`, `{"constructor": {"__proto__": {}}}`,
}

// TestOddArguments calls each function with arguments of which one part is odd: whatever it is, all languages answer the same, or
// fail with the same message, which begins with the function. CEL may refuse it at load.
func TestOddArguments(t *testing.T) {
	javaScript := moduleCaller(t, "JavaScript")
	others := map[string]func(string, []any) (any, error){"Jsonnet": moduleCaller(t, "Jsonnet"), "CEL": celCaller(t)}
	for _, function := range documentedFunctions(t) {
		arguments, ok := validArguments[function.name]
		if !ok {
			t.Errorf("%s has no arguments here", function.name)
			continue
		}
		for args := range oddArguments(t, arguments) {
			want, err := javaScript(function.name, args)
			message := strings.TrimPrefix(failureOf(t, err).Message, "TypeError: ")
			if message != "" && !strings.HasPrefix(message, function.name+": ") {
				t.Errorf("%s(%v): %s", function.name, args, message)
			}
			for language, call := range others {
				if language == "CEL" && !function.inCEL {
					continue
				}
				got, err := call(function.name, args)
				failed := failureOf(t, err)
				if language == "CEL" && failed.Kind == engines.Invalid {
					continue
				}
				if diff := cmp.Diff(want, got); diff != "" || message != failed.Message {
					t.Errorf("%s(%v): JavaScript %v %s; %s %v %s", function.name, args, want, message, language, got, failed.Message)
				}
			}
		}
	}
}

// failureOf returns the error of a call, or one that is empty.
func failureOf(t *testing.T, err error) *engines.Error {
	t.Helper()
	failed := &engines.Error{}
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return failed
}

// oddArguments yields arguments in which one part is an odd value.
func oddArguments(t *testing.T, arguments string) func(yield func([]any) bool) {
	return func(yield func([]any) bool) {
		for _, odd := range oddValues {
			for args := range variations(parsed(t, arguments), parsed(t, odd)) {
				if !yield(args.([]any)) {
					return
				}
			}
		}
	}
}

// variations yields copies of a value in which one part, not the whole, is another.
func variations(value, odd any) func(yield func(any) bool) {
	return func(yield func(any) bool) {
		switch value := value.(type) {
		case []any:
			for i := range value {
				for part := range parts(value[i], odd) {
					changed := slices.Clone(value)
					changed[i] = part
					if !yield(changed) {
						return
					}
				}
			}
		case map[string]any:
			for key := range value {
				for part := range parts(value[key], odd) {
					changed := map[string]any{}
					maps.Copy(changed, value)
					changed[key] = part
					if !yield(changed) {
						return
					}
				}
			}
		}
	}
}

// parts yields odd and the variations of a value.
func parts(value, odd any) func(yield func(any) bool) {
	return func(yield func(any) bool) {
		if yield(odd) {
			variations(value, odd)(yield)
		}
	}
}
