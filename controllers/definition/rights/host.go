package rights

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

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

// Host is how a host is started.
type Host struct {
	// Namespace is its own, and Namespaces are those of --namespaces.
	Namespace  string
	Namespaces []string
	// ReadsAccounts is set for a host that reads on ServiceAccounts who may use them.
	ReadsAccounts bool
}

// OfHost returns what a host needs whatever definitions it runs.
func OfHost(host Host) []Need {
	c := &collector{host: host.Namespace}
	if len(host.Namespaces) == 0 {
		c.definitions("", v1alpha1.DefinitionTypes())
		crds := schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
		c.add(Required, Fixed, access.Right{GroupResource: crds}, false, access.ReadVerbs...)
		namespaces := access.Right{GroupResource: schema.GroupResource{Resource: "namespaces"}}
		c.add(Required, Fixed, namespaces, false, "list") // With --shards they are divided.
	}
	for _, namespace := range host.Namespaces {
		c.definitions(namespace, v1alpha1.DefinitionTypes(namespace))
	}
	c.fixed("coordination.k8s.io", "leases", "", host.Namespace, "", "get", "list", "watch", "create", "update", "delete")
	// The record of finalizers, and with --shards what they report.
	c.fixed("", "configmaps", "", host.Namespace, "", "get", "list", "watch", "create", "update", "delete")
	c.archive(host.Namespace)
	return c.sorted()
}

// definitions adds what is needed of definitions of some kinds in a namespace, which is empty for all, and for events about them.
func (c *collector) definitions(namespace string, types []schema.GroupVersionKind) {
	for _, kind := range types {
		right := access.Right{GroupResource: v1alpha1.DefinitionResource(kind).GroupResource(), Namespace: namespace}
		c.add(Required, Fixed, right, namespace != "", access.ReadVerbs...)
		right.Subresource = "status"
		c.add(Required, Fixed, right, namespace != "", "update", "patch")
	}
	events := access.Right{GroupResource: schema.GroupResource{Resource: "events"}, Namespace: namespace}
	c.add(Required, Fixed, events, true, "create", "patch")
}

// OfHostFor returns what a host needs besides to run a definition: for its caches, which are for the whole cluster or for the definition's
// namespace, and to act as the account of the definition, or if it has none all that the definition needs.
func OfHostFor(d Definition, host Host) []Need {
	c := &collector{plan: d.Plan}
	c.caches(d)
	account := d.Plan.Config.Account
	if account.IsHost() {
		c.needs = append(c.needs, d.Needs...)
		return c.sorted()
	}
	if len(host.Namespaces) > 0 {
		c.tokens(account)
	} else {
		c.impersonation(account, d.Needs)
	}
	if host.ReadsAccounts {
		c.fixed("", "serviceaccounts", "", account.Namespace, account.Name, "get")
	}
	return c.sorted()
}

// ToApply returns what a host needs besides to apply a definition from its folder, with the ConfigMaps of its scripts that the folder has.
// Server-side apply names what it creates, so that a name bounds that too.
func ToApply(d Definition, has func(types.NamespacedName) bool) []Need {
	c := &collector{plan: d.Plan}
	kind := v1alpha1.DefinitionTypes()[0].GroupVersion()
	if d.Plan.Namespace != "" {
		kind = v1alpha1.NamespacedGroupVersion
	}
	resource := v1alpha1.DefinitionResource(kind.WithKind(d.Plan.Kind))
	right := access.Right{GroupResource: resource.GroupResource(), Namespace: d.Plan.Namespace, Name: d.Plan.Name}
	c.add(Required, Fixed, right, d.Plan.Namespace != "", "create", "patch")
	for _, source := range d.Plan.Settings.ScriptSources {
		if from := source.ConfigMap; from != nil && has(types.NamespacedName{Namespace: from.Namespace, Name: from.Name}) {
			c.fixed("", "configmaps", "", from.Namespace, from.Name, "create", "patch")
		}
	}
	if account := d.Plan.Config.Account; !account.IsHost() { // As the policy libretto-use-account asks.
		c.fixed("", "serviceaccounts", "", account.Namespace, account.Name, "use")
	}
	return c.sorted()
}

// archived is where revisions of scripts are stored, which are in no cache.
var archived = schema.GroupResource{Group: "apps", Resource: "controllerrevisions"}

// caches adds what is read for a definition.
func (c *collector) caches(d Definition) {
	for _, need := range d.Needs {
		isArchive := need.GroupResource == archived && need.Place == Fixed
		byAccount := need.GroupResource == corev1.Resource("secrets") && d.Plan.Namespace != ""
		if right := need.Right; slices.Contains(access.ReadVerbs, right.Verb) && right.Name == "" && !isArchive && !byAccount {
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

// tokens adds what a host with Roles alone needs to make requests as an account. It takes no Role to ask what that may do, as the account.
func (c *collector) tokens(account identity.Account) {
	c.fixed("", "serviceaccounts", "token", account.Namespace, account.Name, "create")
	for _, plural := range access.NamespacedRightsResources {
		c.fixed(rbacv1.GroupName, plural, "", account.Namespace, "", access.ReadVerbs...)
	}
}
