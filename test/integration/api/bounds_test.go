package api

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// repeat returns a list of n elements made by a function of their index.
func repeat(n int, element func(i int) any) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = element(i)
	}
	return list
}

// TestLists fills the lists to what they may hold, which the rules have to be checked on
// within the API server's cost limit, and shows that one more is refused.
func TestLists(t *testing.T) {
	c := withDefinitions(t)
	long := strings.Repeat("long-", 20)
	for name, list := range map[string]struct {
		most    int
		element func(i int) any
	}{
		"childResources": {128, func(i int) any {
			return map[string]any{"apiVersion": long + "x.example.com/v1", "resource": fmt.Sprintf("things-%d", i), "forceConflicts": true}
		}},
		"endpointConfigs": {64, func(i int) any {
			return map[string]any{"host": fmt.Sprintf("%s%s%d.example.com:8443", long, long, i), "caBundle": map[string]any{"inline": "x"}}
		}},
		"relatedResources": {64, func(i int) any {
			names := repeat(256, func(j int) any { return fmt.Sprintf("%s-%d", strings.Repeat("n", 40), j) })
			return map[string]any{"apiVersion": "v1", "resource": "secrets", "namespace": fmt.Sprintf("ns-%d", i), "names": names}
		}},
		"scriptSources": {32, func(i int) any {
			items := repeat(128, func(j int) any {
				return map[string]any{"key": "k", "path": fmt.Sprintf("%d/%s/%d.js", i, long, j)}
			})
			return map[string]any{"configMap": map[string]any{"namespace": "a", "name": "b", "items": items}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for n, accepted := range map[int]bool{list.most: true, list.most + 1: false} {
				object := manifest(definitionSpecs["compositecontrollers"]).object(t)
				object.SetName("bounds")
				spec := object.Object["spec"].(map[string]any)
				spec["applyStrategy"] = "ServerSideApply"
				spec[name] = repeat(n, list.element)
				_, err := client(c, object).Create(t.Context(), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				if (err == nil) != accepted {
					t.Errorf("%d entries: %v", n, err)
				}
				if err != nil && !strings.Contains(err.Error(), fmt.Sprintf("must have at most %d items", list.most)) {
					t.Errorf("%d entries: the message does not tell the bound: %v", n, err)
				}
			}
		})
	}
}
