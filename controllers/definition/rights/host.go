package rights

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/access"
	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

// Definition is a definition, and what it needs.
type Definition struct {
	Plan  *plan.Plan
	Needs []Need
}

// OfHost returns what a host in a namespace needs whatever definitions it runs.
func OfHost(host string) []Need {
	c := &collector{host: host}
	of := func(group, resource string) access.Right {
		return access.Right{GroupResource: schema.GroupResource{Group: group, Resource: resource}}
	}
	for _, group := range v1alpha1.DefinitionGroups {
		for _, kind := range v1alpha1.DefinitionKinds {
			right := access.Right{GroupResource: v1alpha1.DefinitionResource(group.WithKind(kind)).GroupResource()}
			c.add(Required, Fixed, right, false, access.ReadVerbs...)
			right.Subresource = "status"
			c.add(Required, Fixed, right, false, "update", "patch")
		}
	}
	c.add(Required, Fixed, of("apiextensions.k8s.io", "customresourcedefinitions"), false, access.ReadVerbs...)
	c.add(Required, Fixed, of("", "events"), true, "create", "patch")
	c.fixed("coordination.k8s.io", "leases", "", host, "", "get", "create", "update")
	c.fixed("", "configmaps", "", host, "", "get", "create", "update") // The record of finalizers.
	c.archive(host)
	return c.sorted()
}

// OfHostFor returns what a host needs besides to run a definition: for its caches, which are for the whole cluster or for the definition's
// namespace, and to act as the account of the definition, or if it has none all that the definition needs. readsAccounts is
// set for a host that reads on the account who may use it.
func OfHostFor(d Definition, readsAccounts bool) []Need {
	c := &collector{plan: d.Plan}
	c.caches(d)
	account := d.Plan.Config.Account
	if account.IsHost() {
		c.needs = append(c.needs, d.Needs...)
		return c.sorted()
	}
	c.impersonation(account, d.Needs)
	if readsAccounts {
		c.fixed("", "serviceaccounts", "", account.Namespace, account.Name, "get")
	}
	return c.sorted()
}

// archived is where revisions of scripts are stored, which are in no cache.
var archived = schema.GroupResource{Group: "apps", Resource: "controllerrevisions"}

// caches adds what is read for a definition.
func (c *collector) caches(d Definition) {
	for _, need := range d.Needs {
		isArchive := need.GroupResource == archived && need.Place == Fixed
		if right := need.Right; slices.Contains(access.ReadVerbs, right.Verb) && right.Name == "" && !isArchive {
			right.Namespace = d.Plan.Namespace
			c.add(Required, Fixed, right, right.Namespace != "", right.Verb)
		}
	}
	byNamespace := slices.ContainsFunc(d.Plan.Config.Inputs, func(rule variant.InputRule) bool { return rule.ByNamespace })
	if custom := d.Plan.Config.Customize; custom != nil {
		for _, declared := range custom.Limits.Declared {
			byNamespace = byNamespace || declared.Namespaces != nil
		}
	}
	if byNamespace {
		c.add(Required, Fixed, access.Right{GroupResource: schema.GroupResource{Resource: "namespaces"}}, false, access.ReadVerbs...)
	}
}

// impersonation adds what the host needs to make requests as an account: the API server allows it no more than the account may.
func (c *collector) impersonation(account identity.Account, needs []Need) {
	const as = "impersonate-on:serviceaccount:"
	c.fixed("authentication.k8s.io", "serviceaccounts", "", account.Namespace, account.Name, "impersonate:serviceaccount")
	for _, plural := range access.RightsResources { // To notice changes at once.
		of := schema.GroupResource{Group: rbacv1.GroupName, Resource: plural}
		c.add(Required, Fixed, access.Right{GroupResource: of}, false, access.ReadVerbs...)
	}
	reviews := schema.GroupResource{Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"}
	c.add(Required, Fixed, access.Right{GroupResource: reviews}, false, as+"create")
	for _, need := range needs {
		right := need.Right
		c.add(Required, need.Place, right, need.Namespaced, as+right.Verb)
	}
}
