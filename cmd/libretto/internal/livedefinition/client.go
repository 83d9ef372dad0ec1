// Package livedefinition reads definitions of a cluster, how far their scripts have been rolled out and which revisions are archived, and
// writes what steers that. It is for commands, which have the rights of their caller.
package livedefinition

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/util/retry"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/livecluster"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/scripts/archive"
)

// Kubernetes has the clients of archived revisions and of reviews of rights, as a kubernetes.Interface has them.
type Kubernetes interface {
	archive.Client
	AuthorizationV1() authorizationv1client.AuthorizationV1Interface
}

// Client reads and writes definitions.
type Client struct {
	Dynamic    dynamic.Interface
	Kubernetes Kubernetes
	Metadata   metadata.Interface
	// HostNamespace is that of the host, where some scripts are archived.
	HostNamespace string
	// Namespace is that of definitions with a namespace.
	Namespace string
	// Program is the name of the program in messages that name a command.
	Program string
	// Warn is called with what could not be read.
	Warn func(string)
}

// Definition is a definition as it is stored.
type Definition struct {
	Object *unstructured.Unstructured
	Spec   struct {
		ServiceAccountRef *v1alpha1.ServiceAccountReference `json:"serviceAccountRef"`
		ScriptSources     []v1alpha1.ScriptSource           `json:"scriptSources"`
		ScriptRollout     v1alpha1.ScriptRollout            `json:"scriptRollout"`
	}
	Status v1alpha1.DefinitionStatus

	program string
}

// String returns the kind and the name, for messages.
func (d *Definition) String() string { return apply.KeyOf(d.Object).String() }

// Argument returns the definition as an argument of commands, with the flag for its namespace if it has one.
func (d *Definition) Argument() string { return v1alpha1.ArgumentOf(d.Object) }

// command returns the command line with a command for the definition.
func (d *Definition) command(name string) string { return d.program + " " + name + " " + d.Argument() }

// rollout returns the part of the status that is about edits. It is never nil.
func (d *Definition) rollout() *v1alpha1.ScriptRolloutStatus {
	if d.Status.ScriptRollout == nil {
		return &v1alpha1.ScriptRolloutStatus{}
	}
	return d.Status.ScriptRollout
}

// serving returns the ID of the revision in use, in full if it is known, or "". While an edit is rolled out it is
// that of the other parents.
func (d *Definition) serving() string {
	if stable := d.rollout(); stable.StableRevision != "" && (stable.StableSpec == nil || d.Status.ScriptRevision != "") {
		return stable.StableRevision
	}
	if d.Status.ScriptRevisionHash != "" {
		return d.Status.ScriptRevisionHash
	}
	return d.Status.ScriptRevision
}

// servingEdit returns what an approval named of the edit in use if that was of the spec, or "" if it is not known, or being rolled out.
func (d *Definition) servingEdit() string {
	if guard := d.Status.DeletionGuard; guard != nil && d.rollout().UpdatedRevision == "" && !d.editsSpec() {
		return rollout.Edit(guard.Edit).ID(rollout.Edit{})
	}
	return ""
}

// editsSpec reports whether parents are synced by another spec than the definition has.
func (d *Definition) editsSpec() bool {
	served, err := plan.AsServed(d.Object)
	return err != nil || served != d.Object
}

// nameOf returns what is said of an edit that is rolled out.
func (d *Definition) nameOf(id string) string {
	r, scripts := d.rollout(), d.Status.ObservedScriptRevisionHash
	if r.UpdatedEdit != nil && id == r.UpdatedRevision || id == r.HeldRevision && scripts != "" && scripts != id {
		return "edit " + shortID(id) + " of the definition"
	}
	return "revision " + shortID(id)
}

// shortNames are kubectl's for each kind of definition. Those of definitions with a namespace have an n in front.
var shortNames = map[string][]string{
	v1alpha1.CompositeControllerKind: {"cc", "cctl"},
	v1alpha1.DecoratorControllerKind: {"dec", "decorators"},
	v1alpha1.MapControllerKind:       {"mc", "mctl"},
}

// in returns the endpoint of a kind of definition.
func (c *Client) in(kind schema.GroupVersionKind, namespace string) dynamic.ResourceInterface {
	return c.Dynamic.Resource(v1alpha1.DefinitionResource(kind)).Namespace(namespace)
}

// namespaceOf returns the namespace in which definitions of a kind are looked for, or empty for those without one.
func (c *Client) namespaceOf(kind schema.GroupVersionKind) string {
	if v1alpha1.IsNamespaced(kind.Group) {
		return c.Namespace
	}
	return ""
}

// kindOf returns the kind that a name of a kind, a resource or a short name means. It reports whether there is one.
func kindOf(name string) (schema.GroupVersionKind, bool) {
	name, group, hasGroup := strings.Cut(strings.ToLower(name), ".")
	for _, kind := range v1alpha1.DefinitionTypes() {
		if (!hasGroup || group == kind.Group) && slices.Contains(namesOf(kind), name) {
			return kind, true
		}
	}
	return schema.GroupVersionKind{}, false
}

// namesOf returns kubectl's names for a kind of definition.
func namesOf(kind schema.GroupVersionKind) []string {
	plural := v1alpha1.DefinitionResource(kind).Resource
	names := []string{plural, strings.TrimSuffix(plural, "s")}
	for _, short := range shortNames[kind.Kind] {
		if v1alpha1.IsNamespaced(kind.Group) {
			short = "n" + short
		}
		names = append(names, short)
	}
	return names
}

// Find returns the definition that KIND/NAME names, or that of any kind that has the name.
func (c *Client) Find(ctx context.Context, argument string) (*Definition, error) {
	kindName, name, hasKind := strings.Cut(argument, "/")
	if !hasKind {
		return c.findByName(ctx, argument)
	}
	kind, known := kindOf(kindName)
	if !known || name == "" || strings.Contains(name, "/") {
		return nil, fmt.Errorf("%q names no definition: write NAME, or KIND/NAME with compositecontroller, decoratorcontroller or mapcontroller; "+
			"that of a definition with a namespace (-n) begins with namespaced", argument)
	}
	d, err := c.get(ctx, kind, c.namespaceOf(kind), name)
	if err == nil && d == nil {
		err = fmt.Errorf("there is no %s", controller.Key{Kind: kind, Namespace: c.namespaceOf(kind), Name: name})
	}
	return d, err
}

// findByName looks for a definition of each kind. Kinds that the caller may not read are left out if another one has the name.
func (c *Client) findByName(ctx context.Context, name string) (*Definition, error) {
	if name == "" {
		return nil, errors.New("name a definition, as NAME or KIND/NAME")
	}
	var found []*Definition
	var forbidden []error
	for _, kind := range v1alpha1.DefinitionTypes() {
		d, err := c.get(ctx, kind, c.namespaceOf(kind), name)
		var missing *livecluster.ForbiddenError
		switch {
		case errors.As(err, &missing):
			forbidden = append(forbidden, err)
		case err != nil:
			return nil, err
		case d != nil:
			found = append(found, d)
		}
	}
	switch {
	case len(found) > 1:
		var arguments []string
		for _, d := range found {
			arguments = append(arguments, d.Argument())
		}
		return nil, fmt.Errorf("there are several definitions %s: name one of %s", name, strings.Join(arguments, ", "))
	case len(found) == 0 && len(forbidden) > 0:
		return nil, forbidden[0]
	case len(found) == 0:
		return nil, fmt.Errorf("there is no definition %s of any kind: see kubectl get libretto", name)
	}
	for _, err := range forbidden {
		c.Warn("it is not known whether another kind has that name: " + err.Error())
	}
	return found[0], nil
}

// get returns a definition, or nil if there is none, or no such kind.
func (c *Client) get(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (*Definition, error) {
	object, err := c.in(kind, namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, explain(err, "get", kind, namespace)
	}
	return c.decode(object)
}

// Names returns all definitions as arguments of commands, for completion: those of kinds that can be listed.
func (c *Client) Names(ctx context.Context) []string {
	var all []string
	for _, kind := range v1alpha1.DefinitionTypes() {
		list, err := c.in(kind, c.namespaceOf(kind)).List(ctx, metav1.ListOptions{})
		if err != nil {
			continue
		}
		for i := range list.Items {
			argument, _, _ := strings.Cut(v1alpha1.ArgumentOf(&list.Items[i]), " ") // Completed for the namespace of -n.
			all = append(all, argument)
		}
	}
	return all
}

func (c *Client) decode(object *unstructured.Unstructured) (*Definition, error) {
	return Decode(object, c.Program)
}

// Decode returns the definition that an object is. The program is the name of this one in messages that name a command.
func Decode(object *unstructured.Unstructured, program string) (*Definition, error) {
	object = v1alpha1.SetNamespaces(object)
	d := &Definition{Object: object, program: program}
	for field, into := range map[string]any{"spec": &d.Spec, "status": &d.Status} {
		fields, _ := object.Object[field].(map[string]any)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, into); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", d, field, err)
		}
	}
	return d, nil
}

// explain returns an error with what was asked for, and the right that is missing.
func explain(err error, verb string, kind schema.GroupVersionKind, namespace string) error {
	return explainResource(err, verb, v1alpha1.DefinitionResource(kind).GroupResource(), namespace)
}

func explainResource(err error, verb string, resource schema.GroupResource, namespace string) error {
	// Admission forbids too, and says why.
	if apierrors.IsForbidden(err) && strings.Contains(err.Error(), " cannot "+verb+" resource ") {
		return &livecluster.ForbiddenError{Verb: verb, Resource: resource, Namespace: namespace}
	}
	return fmt.Errorf("%s %s: %w", verb, resource, err)
}

// FieldManager is the field manager of all writes.
const FieldManager = "libretto-rollout"

// DryRun is how a write is tried.
type DryRun string

const (
	// DryRunNone writes.
	DryRunNone DryRun = "none"
	// DryRunClient sends nothing.
	DryRunClient DryRun = "client"
	// DryRunServer sends the write, which the API server checks and does not store.
	DryRunServer DryRun = "server"
)

// DryRuns are all ways to try a write.
var DryRuns = []string{string(DryRunNone), string(DryRunClient), string(DryRunServer)}

// Write makes the change that decide wants of a definition as it is. If it has changed meanwhile, decide is asked again: what it returned
// before may be wrong now.
func (c *Client) Write(ctx context.Context, d *Definition, dryRun DryRun, decide Decide) (*Change, error) {
	var change *Change
	stale := false
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var err error
		if stale {
			if d, err = c.again(ctx, d); err != nil {
				return err
			}
		}
		if change, err = decide(d); err != nil || change.Patch == nil || dryRun == DryRunClient {
			return err
		}
		stale = true
		return c.patch(ctx, d, dryRun, change.Patch)
	})
	return change, err
}

// again reads a definition that has changed.
func (c *Client) again(ctx context.Context, d *Definition) (*Definition, error) {
	now, err := c.get(ctx, d.Object.GroupVersionKind(), d.Object.GetNamespace(), d.Object.GetName())
	if err == nil && (now == nil || now.Object.GetUID() != d.Object.GetUID()) {
		err = fmt.Errorf("%s was deleted meanwhile", d)
	}
	return now, err
}

// patch sends a merge patch, which fails with a conflict if the definition has changed.
func (c *Client) patch(ctx context.Context, d *Definition, dryRun DryRun, patch map[string]any) error {
	locked := runtime.DeepCopyJSON(patch)
	if err := unstructured.SetNestedField(locked, d.Object.GetResourceVersion(), "metadata", "resourceVersion"); err != nil {
		return err
	}
	text, err := json.Marshal(locked)
	if err != nil {
		return err
	}
	options := metav1.PatchOptions{FieldManager: FieldManager}
	if dryRun == DryRunServer {
		options.DryRun = []string{metav1.DryRunAll}
	}
	kind, namespace := d.Object.GroupVersionKind(), d.Object.GetNamespace()
	_, err = c.in(kind, namespace).Patch(ctx, d.Object.GetName(), types.MergePatchType, text, options)
	if err == nil || apierrors.IsConflict(err) {
		return err
	}
	return explain(err, "patch", kind, namespace)
}
