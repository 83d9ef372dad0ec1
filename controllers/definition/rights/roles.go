package rights

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/runtime/access"
	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

// Grant has the rules of a Role in a namespace, or of a ClusterRole if it has none.
type Grant struct {
	Namespace string
	Rules     []rbacv1.PolicyRule
}

// Grants returns the roles that suffice for the needs, and grant no more: for the whole cluster first, then by namespace. namespaces are
// those of the parents, if they are known: otherwise what is needed there is granted in all.
func Grants(needs []Need, namespaces ...string) []Grant {
	byNamespace := map[string][]access.Right{}
	for _, need := range needs {
		in := []string{""}
		switch {
		case need.Place == Fixed:
			in = []string{need.Namespace}
		case need.Place == WithParents && need.Namespaced && len(namespaces) > 0:
			in = namespaces
		}
		for _, namespace := range in {
			byNamespace[namespace] = append(byNamespace[namespace], need.Right)
		}
	}
	var grants []Grant
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		rights := byNamespace[namespace]
		if namespace != "" { // What is granted in all namespaces needs no Role.
			rights = slices.DeleteFunc(rights, func(right access.Right) bool { return covers(byNamespace[""], right) })
		}
		if len(rights) > 0 {
			grants = append(grants, Grant{namespace, RulesOf(rights)})
		}
	}
	return grants
}

// covers reports whether a right is among others, for its name or for all.
func covers(rights []access.Right, right access.Right) bool {
	return slices.ContainsFunc(rights, func(r access.Right) bool {
		return r.Verb == right.Verb && r.GroupResource == right.GroupResource && r.Subresource == right.Subresource &&
			(r.Name == "" || r.Name == right.Name)
	})
}

// ruleKey is what rights have in common that are one rule: resources of one group with the same verbs.
type ruleKey struct{ group, name, verbs string }

// RulesOf returns the rules that give rights, whatever their namespaces, sorted.
func RulesOf(rights []access.Right) []rbacv1.PolicyRule {
	type object struct{ group, resource, name string }
	verbs := map[object][]string{}
	for _, r := range rights {
		resource := r.Resource
		if r.Subresource != "" {
			resource += "/" + r.Subresource
		}
		o := object{r.Group, resource, r.Name}
		if !slices.Contains(verbs[o], r.Verb) {
			verbs[o] = append(verbs[o], r.Verb)
		}
	}
	rules := map[ruleKey]*rbacv1.PolicyRule{}
	for _, o := range slices.SortedFunc(maps.Keys(verbs), func(a, b object) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.resource, b.resource), cmp.Compare(a.name, b.name))
	}) {
		slices.SortFunc(verbs[o], func(a, b string) int {
			return cmp.Or(cmp.Compare(slices.Index(verbOrder, a), slices.Index(verbOrder, b)), cmp.Compare(a, b))
		})
		key := ruleKey{o.group, o.name, strings.Join(verbs[o], " ")}
		if rule := rules[key]; rule != nil {
			rule.Resources = append(rule.Resources, o.resource)
			continue
		}
		rule := &rbacv1.PolicyRule{APIGroups: []string{o.group}, Resources: []string{o.resource}, Verbs: verbs[o]}
		if o.name != "" {
			rule.ResourceNames = []string{o.name}
		}
		rules[key] = rule
	}
	var all []rbacv1.PolicyRule
	for _, rule := range rules {
		all = append(all, *rule)
	}
	slices.SortFunc(all, func(a, b rbacv1.PolicyRule) int {
		return cmp.Or(cmp.Compare(a.APIGroups[0], b.APIGroups[0]), cmp.Compare(a.Resources[0], b.Resources[0]),
			cmp.Compare(strings.Join(a.ResourceNames, " "), strings.Join(b.ResourceNames, " ")))
	})
	return all
}

// Role returns the Role or ClusterRole of a grant, and what binds it to an account.
func (g Grant) Role(name string, account identity.Account) (role, binding any) {
	meta := metav1.ObjectMeta{Name: name, Namespace: g.Namespace}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}}
	kind := func(kind string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
	}
	if g.Namespace == "" {
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
		return &rbacv1.ClusterRole{TypeMeta: kind("ClusterRole"), ObjectMeta: meta, Rules: g.Rules},
			&rbacv1.ClusterRoleBinding{TypeMeta: kind("ClusterRoleBinding"), ObjectMeta: meta, RoleRef: ref, Subjects: subjects}
	}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}
	return &rbacv1.Role{TypeMeta: kind("Role"), ObjectMeta: meta, Rules: g.Rules},
		&rbacv1.RoleBinding{TypeMeta: kind("RoleBinding"), ObjectMeta: meta, RoleRef: ref, Subjects: subjects}
}
