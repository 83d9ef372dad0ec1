package related

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// FuzzRule reads any rule of a customize hook. Version v1 of the hook never sees
// another namespace than the parent's.
func FuzzRule(f *testing.F) {
	for _, text := range []string{
		`{"apiVersion":"example.com/v1","resource":"gadgets"}`, `{"apiVersion":"example.com/v1","resource":"gadgets","namespace":"prod","names":["a","a"]}`,
		`{"apiVersion":"example.com/v1","resource":"gadgets","labelSelector":{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"a","operator":"NotIn","values":["c"]}]}}`,
		`{"apiVersion":"example.com/v1","resource":"gadgets","namespaceSelector":{}}`, `{"apiVersion":"example.com/v1","resource":"gadgets","namespace":"test"}`,
		`{"apiVersion":"v2","resource":"gadgets"}`, `{"apiVersion":1,"resource":null,"names":{}}`, `{}`,
		`{"apiVersion":"example.com/v1","resource":"gadgets","labelSelector":{"matchExpressions":[{"key":"","operator":"In"}]}}`,
	} {
		f.Add([]byte(text), byte(0))
		f.Add([]byte(text), byte(3))
	}
	find := func(apiVersion, resource string) (discovery.Resource, error) {
		if apiVersion != "example.com/v1" || resource != "gadgets" {
			return discovery.Resource{}, errors.New("not served")
		}
		return parenttest.Gadgets, nil
	}
	f.Fuzz(func(t *testing.T, text []byte, flags byte) {
		var fields map[string]any
		if json.Unmarshal(text, &fields) != nil {
			t.Skip("no object")
		}
		parent := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "p", "namespace": "prod"}}}
		c := &Customize{OwnNamespace: flags&1 != 0, RefuseUnknown: flags&2 != 0}
		rule, problem := c.parseRule(fields, parent, find)
		if problem != "" {
			return
		}
		if c.OwnNamespace && (rule.namespace != "prod" || rule.namespaces != nil) {
			t.Errorf("%s selects objects outside of prod for a parent in prod", text)
		}
		if rule.selector == nil || rule.names != nil && len(rule.names) == 0 {
			t.Errorf("%s makes a rule that selects nothing", text)
		}
	})
}
