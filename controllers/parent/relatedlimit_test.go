package parent

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// related is a program that answers rules.
type related struct {
	engines.ProgramBase
	rules []any
}

func (r related) Run(context.Context, engines.Call) (engines.Response, error) {
	return engines.Response{Body: map[string]any{"relatedResources": r.rules}}, nil
}

// TestIndexKeysAreBounded has a customize hook ask for many objects.
func TestIndexKeysAreBounded(t *testing.T) {
	values := func(n int) []any {
		list := make([]any, n)
		for i := range list {
			list[i] = fmt.Sprint(i)
		}
		return list
	}
	names := func(n int) any {
		return map[string]any{"apiVersion": "v1", "resource": "configmaps", "names": values(n)}
	}
	oneOf := func(n int) any {
		return map[string]any{"apiVersion": "v1", "resource": "configmaps", "labelSelector": map[string]any{
			"matchExpressions": []any{map[string]any{"key": "a", "operator": "In", "values": values(n)}},
		}}
	}
	for name, tc := range map[string]struct {
		rules []any
		want  string
	}{
		"Fits":     {[]any{names(5000), oneOf(5000)}, ""},
		"Names":    {[]any{names(10_001)}, "HookLimitExceeded: customize hook: relatedResources[0]: the rules up to this one have 10001 names"},
		"Labels":   {[]any{oneOf(1_000_000)}, "relatedResources[0]: the rules up to this one have 1000000 names and label values, more than 10000"},
		"Together": {[]any{names(5000), oneOf(5001)}, "relatedResources[1]: the rules up to this one have 10001 names"},
	} {
		t.Run(name, func(t *testing.T) {
			find := func(string, string) (discovery.Resource, error) {
				version := schema.GroupVersion{Version: "v1"}
				return discovery.Resource{GroupVersionResource: version.WithResource("configmaps"), Kind: version.WithKind("ConfigMap"), Namespaced: true}, nil
			}
			p := &pass{
				shared: &shared{config: Config{Customize: &Customize{Find: find}}, env: Environment{Clock: clocktesting.NewFakeClock(time.Unix(5, 0))}},
				parent: &unstructured.Unstructured{Object: map[string]any{}}, programs: Programs{ByHook: map[string]engines.Program{"customize": related{rules: tc.rules}}},
			}
			_, err := p.customize(t.Context())
			if err == nil != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}
