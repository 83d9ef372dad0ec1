package access

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ReadVerbs are the verbs that it takes to be shown the objects of a resource.
var ReadVerbs = []string{"list", "watch"}

// Right is what an account may do: a verb on the objects of a resource.
type Right struct {
	Verb string
	schema.GroupResource
	// Subresource is empty for the objects themselves.
	Subresource string
	// Namespace is empty for resources without one, and for all namespaces.
	Namespace string
	// Name is that of the only object that it is about, or empty for all.
	Name string
}

// String returns the right as in a message: "create configmaps in the namespace a".
func (r Right) String() string {
	var b strings.Builder
	b.WriteString(r.Verb + " " + r.Plural())
	if r.Name != "" {
		b.WriteString(" " + r.Name)
	}
	if r.Namespace == "" {
		return b.String() + " in the cluster"
	}
	return b.String() + " in the namespace " + r.Namespace
}

// Sortable returns a text by which rights on the same objects come together.
func (r Right) Sortable() string {
	return strings.Join([]string{r.Namespace, r.Plural(), r.Name, r.Verb}, " ")
}

// Plural returns the resource as kubectl names it, with its subresource: "deployments.apps/status".
func (r Right) Plural() string {
	if r.Subresource == "" {
		return r.GroupResource.String()
	}
	return r.GroupResource.String() + "/" + r.Subresource
}

// maxDescribed is how many rights are named.
const maxDescribed = 20

// Describe lists rights, those on the same objects together: "create, delete configmaps in the namespace a; get pods in the cluster".
func Describe(rights []Right) string {
	var order []string
	verbs := map[string][]string{}
	for _, right := range rights[:min(len(rights), maxDescribed)] {
		objects := strings.TrimPrefix(right.String(), right.Verb+" ")
		if verbs[objects] == nil {
			order = append(order, objects)
		}
		verbs[objects] = append(verbs[objects], right.Verb)
	}
	for i, objects := range order {
		order[i] = strings.Join(verbs[objects], ", ") + " " + objects
	}
	if more := len(rights) - maxDescribed; more > 0 {
		order = append(order, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(order, "; ")
}
