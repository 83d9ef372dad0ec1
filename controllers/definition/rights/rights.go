// Package rights says what a definition needs: which verbs on which resources are used for it, and where. It is the one place that knows.
package rights

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/credentials"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/parent/waiters"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/access"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/scripts/artifact"
)

// Need is a right that a definition needs.
type Need struct {
	// Right has the namespace of a need at a Fixed place, and otherwise none.
	access.Right
	Place Place
	// Namespaced reports whether the resource is in namespaces.
	Namespaced bool
	Level      Level
}

// Place is where a right is needed.
type Place int

// The places.
const (
	// Fixed is the namespace of the right, or the cluster.
	Fixed Place = iota
	// WithParents is each namespace that has parents, or the cluster for a resource without namespaces.
	WithParents
	// Anywhere is whatever namespace the hooks name.
	Anywhere
)

// Level says what a definition can't do without the right.
type Level int

// The levels.
const (
	// Required rights are needed whatever the hooks answer. Parents wait for those that are needed with them.
	Required Level = iota
	// Informative rights are for events: everything else goes on without them.
	Informative
	// Possible rights are needed if the hooks ask for what takes them.
	Possible
)

// cachedVerbs are for what is written, too: after a conflict it is read.
var cachedVerbs = append([]string{"get"}, access.ReadVerbs...)

// Of returns what a definition needs with spec.scriptRollout, which may be nil, sorted and each once. host is the namespace of the host.
func Of(plan *plan.Plan, rollout *v1alpha1.ScriptRollout, host string) []Need {
	c := &collector{plan: plan, host: host}
	c.parents()
	c.children()
	c.reads()
	c.scripts()
	c.credentials()
	c.analyses(rollout)
	return c.sorted()
}

// collector collects the needs of one definition.
type collector struct {
	plan  *plan.Plan
	host  string
	needs []Need
}

// add adds verbs on a resource.
func (c *collector) add(level Level, place Place, of access.Right, namespaced bool, verbs ...string) {
	for _, verb := range verbs {
		need := Need{Right: of, Place: place, Namespaced: namespaced, Level: level}
		need.Verb = verb
		c.needs = append(c.needs, need)
	}
}

// fixed adds required verbs on a namespaced resource in one namespace, and of one name unless that is empty.
func (c *collector) fixed(group, resource, subresource, namespace, name string, verbs ...string) {
	c.add(Required, Fixed, access.Right{
		GroupResource: schema.GroupResource{Group: group, Resource: resource}, Subresource: subresource, Namespace: namespace, Name: name,
	}, true, verbs...)
}

// hasNamespacedParents reports whether the parents are in namespaces, and their children with them.
func (c *collector) hasNamespacedParents() bool {
	return !slices.ContainsFunc(c.plan.Config.Parents, func(rule variant.ParentRule) bool { return !rule.Namespaced })
}

// placeOf returns where the objects of a resource are that belong to parents.
func (c *collector) placeOf(resource discovery.Resource) Place {
	if resource.Namespaced && !c.hasNamespacedParents() {
		return Anywhere
	}
	return WithParents
}

// parents adds what is needed of parents, and for events about them.
func (c *collector) parents() {
	isDecorator := c.plan.Kind == v1alpha1.DecoratorControllerKind
	for _, rule := range c.plan.Config.Parents {
		of, status := access.Right{GroupResource: rule.GroupResource()}, c.statusLevel()
		c.add(Required, WithParents, of, rule.Namespaced, cachedVerbs...)
		switch {
		case c.plan.Config.Finalizing.Enabled:
			c.add(Required, WithParents, of, rule.Namespaced, "patch")
		case isDecorator:
			c.add(Possible, WithParents, of, rule.Namespaced, "patch") // Labels and annotations.
		}
		switch {
		case rule.HasStatus:
			of.Subresource = "status"
			c.add(status, WithParents, of, rule.Namespaced, "update")
		case c.plan.Config.Status.WithObject:
			c.add(status, WithParents, of, rule.Namespaced, "update")
		}
		events := access.Right{GroupResource: corev1.Resource("events")}
		if rule.Namespaced {
			c.add(Informative, WithParents, events, true, "create", "patch")
		} else {
			events.Namespace = corev1.NamespaceDefault
			c.add(Informative, Fixed, events, true, "create", "patch")
		}
	}
}

// statusLevel returns whether a status is written whatever the hooks answer.
func (c *collector) statusLevel() Level {
	writes, _, _ := unstructured.NestedString(c.plan.Spec(), "parentResource", "statusWrites")
	switch {
	case c.plan.Config.Status.Conditions:
		return Required
	case c.plan.Kind == v1alpha1.DecoratorControllerKind, writes == string(v1alpha1.WhenReturnedStatusWrites):
		return Possible
	default:
		return Required
	}
}

// children adds what is needed of children and of their ControllerRevisions.
func (c *collector) children() {
	for _, rule := range c.plan.Config.Children {
		of, place := access.Right{GroupResource: rule.GroupResource()}, c.placeOf(rule.Resource)
		c.add(Required, place, of, rule.Namespaced, cachedVerbs...)
		c.add(Required, place, of, rule.Namespaced, "create")
		if rule.Orphan {
			c.orphans(rule, place)
		} else {
			c.add(Required, place, of, rule.Namespaced, "delete")
		}
		switch {
		case rule.Strategy == apply.ServerSideApply:
			c.add(Required, place, of, rule.Namespaced, "patch")
		case rule.Method == apply.InPlace:
			c.add(Required, place, of, rule.Namespaced, "update")
		case rule.Method == apply.Recreate:
			c.add(Possible, place, of, rule.Namespaced, "update") // Of what the annotation remembers.
		}
		if c.plan.Kind == v1alpha1.CompositeControllerKind { // Other kinds neither adopt nor release.
			c.add(c.adoptionLevel(), place, of, rule.Namespaced, "patch")
		}
	}
	if revisions := c.plan.Config.Revisions.Resource; revisions != nil {
		of := access.Right{GroupResource: revisions.GroupResource()}
		place := WithParents
		if !c.hasNamespacedParents() {
			of.Namespace, place = plan.Home(&c.plan.Settings, c.host), Fixed
		}
		c.add(Required, place, of, true, append([]string{"create", "update", "delete"}, cachedVerbs...)...)
	}
}

// orphans adds what is needed of children that are let go of in the place of being deleted.
func (c *collector) orphans(rule variant.ChildRule, place Place) {
	c.add(Required, place, access.Right{GroupResource: rule.GroupResource()}, rule.Namespaced, "update", "patch") // Owner references.
	namespaces := access.Right{GroupResource: waiters.NamespaceResource.GroupResource()}
	if !rule.Namespaced {
		namespaces.Name, place = metav1.NamespaceSystem, Fixed
	}
	c.add(Required, place, namespaces, rule.Namespaced, "get") // A Role in a namespace can allow to get it.
}

// adoptionLevel returns whether objects that others have made can be children: with a generated selector none has its label by chance.
func (c *collector) adoptionLevel() Level {
	if generated, _, _ := unstructured.NestedBool(c.plan.Spec(), "generateSelector"); generated {
		return Possible
	}
	return Required
}

// reads adds what hooks are shown besides parents and children.
func (c *collector) reads() {
	for _, rule := range c.plan.Config.Inputs {
		c.add(Required, c.placeOf(rule.Resource), access.Right{GroupResource: rule.GroupResource()}, rule.Namespaced, access.ReadVerbs...)
	}
	customize := c.plan.Config.Customize
	if customize == nil {
		return
	}
	for _, named := range customize.Named {
		found, err := customize.Find(named.GroupVersion().String(), named.Resource)
		of, place := access.Right{GroupResource: named.GroupResource(), Namespace: named.Namespace}, WithParents
		if named.Namespace != "" {
			place = Fixed
		}
		c.add(Possible, place, of, err != nil || found.Namespaced, access.ReadVerbs...)
	}
	for _, declared := range customize.Limits.Declared {
		found, err := customize.Find(declared.GroupVersion().String(), declared.Resource)
		of, place := access.Right{GroupResource: declared.GroupResource(), Namespace: declared.Namespace}, Anywhere
		namespaced := err != nil || found.Namespaced
		switch {
		case declared.Namespace != "" || !namespaced:
			place = Fixed
		case customize.Namespaced, customize.OwnNamespace && c.hasNamespacedParents():
			place = WithParents
		}
		c.add(Possible, place, of, namespaced, access.ReadVerbs...)
	}
}

// scripts adds what is needed of the ConfigMaps of scripts and the objects of Flux, and of the archive.
func (c *collector) scripts() {
	for _, source := range c.plan.Settings.ScriptSources {
		if from := source.ConfigMap; from != nil {
			c.fixed("", "configmaps", "", from.Namespace, from.Name, access.ReadVerbs...)
		}
		if from := source.Flux; from != nil {
			resource, _ := artifact.ResourceFor(from.Kind)
			c.fixed(resource.Group, resource.Resource, "", from.Namespace, from.Name, access.ReadVerbs...)
		}
	}
	if len(plan.ScriptNames(c.plan.Hooks)) > 0 {
		c.archive(plan.ArchiveNamespace(&c.plan.Settings, c.host))
	}
}

// archive adds what is needed to archive scripts in a namespace.
func (c *collector) archive(namespace string) {
	c.fixed(archived.Group, archived.Resource, "", namespace, "", "get", "list", "create", "delete")
}

// credentials adds what is needed of the credentials of webhooks.
func (c *collector) credentials() {
	for _, named := range c.plan.Hooks {
		if named.Hook.Webhook == nil {
			continue
		}
		given, _ := credentials.For(named.Hook.Webhook, "", c.plan.Settings.EndpointConfigs)
		if given == nil {
			continue
		}
		secret := func(of v1alpha1.NamespacedReference) {
			c.fixed("", "secrets", "", of.Namespace, of.Name, access.ReadVerbs...)
		}
		if ca := given.CABundle; ca != nil && ca.SecretRef != nil {
			secret(ca.SecretRef.NamespacedReference)
		}
		if ca := given.CABundle; ca != nil && ca.ConfigMapRef != nil {
			c.fixed("", "configmaps", "", ca.ConfigMapRef.Namespace, ca.ConfigMapRef.Name, access.ReadVerbs...)
		}
		if given.ClientTLS != nil {
			secret(given.ClientTLS.SecretRef)
		}
		if given.BasicAuth != nil {
			secret(given.BasicAuth.SecretRef)
		}
		if a := given.Authorization; a != nil && a.SecretRef != nil {
			secret(a.SecretRef.NamespacedReference)
		}
		if a := given.Authorization; a != nil && a.ServiceAccountToken != nil {
			of := a.ServiceAccountToken.ServiceAccountRef
			c.fixed("", "serviceaccounts", "token", of.Namespace, of.Name, "create")
		}
	}
}

// analyses adds what is needed for the Jobs of steps.
func (c *collector) analyses(rollout *v1alpha1.ScriptRollout) {
	if rollout == nil {
		return
	}
	for _, step := range rollout.Steps {
		for _, analysis := range step.Analysis {
			if job := analysis.Job; job != nil {
				c.fixed("batch", "cronjobs", "", job.Namespace, job.CronJob, "get")
				c.fixed("batch", "jobs", "", job.Namespace, "", "create", "get")
			}
		}
	}
}

// InParents returns a function that returns the required rights at parents in a namespace, which is empty for parents without one.
func InParents(needs []Need) func(namespace string) []access.Right {
	var known sync.Map
	return func(namespace string) []access.Right {
		if rights, ok := known.Load(namespace); ok {
			return rights.([]access.Right)
		}
		rights := At(needs, Required, namespace)
		known.Store(namespace, rights)
		return rights
	}
}

// At returns the rights of a level that are needed with parents in a namespace, or with those without one.
func At(needs []Need, level Level, namespace string) []access.Right {
	var rights []access.Right
	for _, need := range needs {
		if need.Level != level || need.Place != WithParents || need.Namespaced && namespace == "" {
			continue
		}
		right := need.Right
		if need.Namespaced {
			right.Namespace = namespace
		}
		rights = append(rights, right)
	}
	return rights
}

// FixedAt returns the rights of a level that are needed wherever parents are.
func FixedAt(needs []Need, level Level) []access.Right {
	var rights []access.Right
	for _, need := range needs {
		if need.Level == level && need.Place == Fixed {
			rights = append(rights, need.Right)
		}
	}
	return rights
}
