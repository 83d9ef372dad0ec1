package access

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestDescribe puts the verbs on the same objects together, and bounds the list.
func TestDescribe(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	several := []Right{
		{Verb: "create", GroupResource: pods, Namespace: "a"}, {Verb: "get", GroupResource: pods}, {Verb: "delete", GroupResource: pods, Namespace: "a"},
	}
	if got, want := Describe(several), "create, delete pods in the namespace a; get pods in the cluster"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var many []Right
	for i := range maxDescribed + 3 {
		many = append(many, Right{Verb: "get", GroupResource: pods, Namespace: fmt.Sprintf("n%d", i)})
	}
	if got := Describe(many); !strings.HasSuffix(got, "get pods in the namespace n19; and 3 more") {
		t.Errorf("of many: %q", got)
	}
}
