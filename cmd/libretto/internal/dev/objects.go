package dev

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/readiness"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/livedefinition"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/controllers/simulation/apiserver"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/values/objectkey"
	"github.com/libretto-k8s/libretto/scripts/archive"
)

// The roles of objects.
const (
	roleDefinition = "definition"
	roleParent     = "parent"
	roleChild      = "child"
	roleCRD        = "crd"
	roleOther      = "other"
)

// objects follows the objects of a cluster, and sends to the stream what they are.
type objects struct {
	stream   *stream
	problems *problems
	client   dynamic.Interface
	api      discovery.DiscoveryInterface
	// memory is this command's cluster, or nil for another one: of that only definitions, parents and children are shown.
	memory *apiserver.Server
	// program is how users run this program.
	program string
	// planner plans definitions as if all resources were there.
	planner plan.Planner

	mu    sync.Mutex
	byUID map[types.UID]*object
	rules map[types.UID]definition
	// failing are why the last passes of parents failed.
	failing  map[types.UID]string
	followed map[schema.GroupResource]bool
}

var crdKind = apiextensionsv1.Kind("CustomResourceDefinition")

// object is an object and what is said of it.
type object struct {
	*unstructured.Unstructured
	resource         schema.GroupResource
	role, definition string
}

// definition is which parents a generation of a definition has.
type definition struct {
	name       string
	generation int64
	parents    []variant.ParentRule
}

// objectMessage is what the page gets of an object. Event is the first field.
type objectMessage struct {
	Event      string         `json:"event"`
	Role       string         `json:"role"`
	State      string         `json:"state"`
	Message    string         `json:"message"`
	Owner      types.UID      `json:"owner"`
	Definition string         `json:"definition"`
	Object     map[string]any `json:"object"`
}

// editMessage is what the page gets of an edit.
type editMessage struct {
	Definition string   `json:"definition"`
	Revision   string   `json:"revision"`
	Held       bool     `json:"held"`
	Reason     string   `json:"reason"`
	Message    string   `json:"message"`
	Commands   []string `json:"commands"`
}

func newObjects(
	stream *stream, problems *problems, client dynamic.Interface, api discovery.DiscoveryInterface, memory *apiserver.Server, program string,
) *objects {
	return &objects{
		stream: stream, problems: problems, client: client, api: api, memory: memory, program: program,
		byUID: map[types.UID]*object{}, rules: map[types.UID]definition{}, failing: map[types.UID]string{},
		followed: map[schema.GroupResource]bool{},
		planner: plan.Planner{
			Find: new(manifest.Set).Known().FindOrAssume, RevisionNamespace: metav1.NamespaceDefault, FieldManager: fieldManager,
		},
	}
}

// hidden are the resources that say nothing about what scripts do.
var hidden = map[schema.GroupResource]bool{
	{Resource: "events"}: true, {Group: "events.k8s.io", Resource: "events"}: true, {Group: "apps", Resource: "controllerrevisions"}: true,
	{Group: "coordination.k8s.io", Resource: "leases"}: true,
}

// run follows definitions, what they name, and of this command's cluster all that there is, until ctx ends.
func (o *objects) run(ctx context.Context) {
	for _, kind := range v1alpha1.DefinitionTypes() {
		o.follow(ctx, v1alpha1.DefinitionResource(kind))
	}
	if o.memory != nil {
		o.discover(ctx)
	}
}

// discover follows all that there is.
func (o *objects) discover(ctx context.Context) {
	lists, _ := o.api.ServerPreferredResources() // What can't be discovered is not shown.
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "watch"}}, lists) {
		version, _ := schema.ParseGroupVersion(list.GroupVersion)
		for _, resource := range list.APIResources {
			o.follow(ctx, version.WithResource(resource.Name))
		}
	}
}

// follow follows a resource until ctx ends.
func (o *objects) follow(ctx context.Context, resource schema.GroupVersionResource) {
	o.mu.Lock()
	defer o.mu.Unlock()
	gr := resource.GroupResource()
	if o.followed[gr] || hidden[gr] {
		return
	}
	o.followed[gr] = true
	informer := dynamicinformer.NewFilteredDynamicInformer(o.client, resource, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
	_ = informer.SetTransform(func(value any) (any, error) { // It fails after a start alone.
		if u, is := value.(*unstructured.Unstructured); is {
			u.SetManagedFields(nil)
			if o.memory == nil && u.GetKind() == "Secret" {
				u.Object = map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": metadataOf(u)}
			}
		}
		return value, nil
	})
	_ = informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) {
		if status := apierrors.APIStatus(nil); apierrors.IsForbidden(err) && errors.As(err, &status) {
			o.problems.put(gr.String(), "not shown: "+status.Status().Message)
		}
	})
	listed := func() { o.problems.put(gr.String()) }
	set := func(value any) {
		listed()
		o.set(ctx, gr, value.(*unstructured.Unstructured))
	}
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: set, UpdateFunc: func(_, now any) { set(now) },
		DeleteFunc: func(value any) {
			if unknown, is := value.(cache.DeletedFinalStateUnknown); is {
				value = unknown.Obj
			}
			o.remove(value.(*unstructured.Unstructured))
		},
	})
	go informer.Run(ctx.Done())
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			listed() // There may be no object that says so.
		}
	}()
}

// set notes an object that was added or has changed.
func (o *objects) set(ctx context.Context, resource schema.GroupResource, u *unstructured.Unstructured) {
	isDefinition := v1alpha1.IsDefinition(u.GroupVersionKind().GroupKind())
	group, _, _ := unstructured.NestedString(u.Object, "spec", "group")
	secretType, _, _ := unstructured.NestedString(u.Object, "type")
	switch {
	case u.GetKind() == "Secret" && secretType == string(corev1.SecretTypeServiceAccountToken):
		return
	case u.GroupVersionKind().GroupKind() == crdKind && (group == v1alpha1.GroupName || v1alpha1.IsNamespaced(group)):
		return // What there is of Libretto's own is followed from the beginning.
	case isDefinition && o.memory == nil:
		for _, rule := range manifest.ResourceRules(&document.Object{Unstructured: u}) {
			if version, err := schema.ParseGroupVersion(rule.APIVersion); err == nil {
				o.follow(ctx, version.WithResource(rule.Resource))
			}
		}
	case u.GroupVersionKind().GroupKind() == crdKind && isEstablished(u):
		o.discover(ctx)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if isDefinition {
		o.define(u)
	}
	shown := &object{Unstructured: u, resource: resource, role: roleOther}
	if before := o.byUID[u.GetUID()]; before != nil {
		shown.role, shown.definition = before.role, before.definition
	}
	o.byUID[u.GetUID()] = shown
	o.show(shown)
}

// metadataOf returns the metadata of an object without what it was applied with.
func metadataOf(u *unstructured.Unstructured) any {
	unstructured.RemoveNestedField(u.Object, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
	return u.Object["metadata"]
}

// isEstablished reports whether the API server serves what a CustomResourceDefinition defines.
func isEstablished(u *unstructured.Unstructured) bool {
	return readiness.Of(u).State == readiness.Ready
}

// define notes which parents a definition has, and how far its scripts have come. The lock is held.
func (o *objects) define(u *unstructured.Unstructured) {
	d, known := o.rules[u.GetUID()]
	o.showEdit(u, apply.KeyOf(u).String())
	if known && d.generation == u.GetGeneration() {
		return
	}
	d.name, d.generation = apply.KeyOf(u).String(), u.GetGeneration()
	if planned, refusal := o.planner.Plan(u); refusal == nil { // Otherwise the host goes by the spec before.
		d.parents = planned.Config.Parents
	}
	o.rules[u.GetUID()] = d
	o.showAll()
}

// showEdit sends how far the scripts of a definition have come. The lock is held.
func (o *objects) showEdit(u *unstructured.Unstructured, name string) {
	d, err := livedefinition.Decode(u, o.program)
	if err != nil {
		return // The object has what is wrong.
	}
	s := d.RolloutStatus(livedefinition.Wanted{})
	edit := editMessage{
		Definition: name, Revision: archive.ShortID(cmp.Or(s.Held, s.Updated, s.Failed, s.Revision)), Message: s.Message,
		Held: s.Phase == string(v1alpha1.ScriptsHeld) || s.Phase == string(v1alpha1.ScriptsRolledBack), Reason: s.Phase,
		Commands: append([]string{}, d.Commands(s)...),
	}
	if c := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionProgressing); c != nil {
		edit.Reason = c.Reason
	}
	o.stream.put("edit/"+string(u.GetUID()), "edit", edit)
	var texts []string
	for _, condition := range []string{v1alpha1.ConditionAccepted, v1alpha1.ConditionScriptsReady} {
		if c := meta.FindStatusCondition(d.Status.Conditions, condition); c != nil && c.Status == metav1.ConditionFalse && o.memory != nil {
			texts = append(texts, name+": "+c.Message)
		}
	}
	o.problems.put(string(u.GetUID()), texts...)
}

// remove notes that an object is gone.
func (o *objects) remove(u *unstructured.Unstructured) {
	o.mu.Lock()
	defer o.mu.Unlock()
	uid := u.GetUID()
	if before := o.byUID[uid]; before != nil {
		o.stream.remove(string(uid), objectMessage{
			Event: "DELETED", Role: before.role, State: "deleting", Owner: ownerOf(u), Definition: before.definition, Object: u.Object,
		})
	}
	delete(o.byUID, uid)
	delete(o.failing, uid)
	if _, was := o.rules[uid]; was {
		delete(o.rules, uid)
		o.stream.drop("edit/" + string(uid))
		o.problems.put(string(uid))
		o.showAll()
	}
}

// setFailing notes how the last pass of a parent ended.
func (o *objects) setFailing(uid types.UID, message string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failing[uid] == message {
		return
	}
	o.failing[uid] = message
	if message == "" {
		delete(o.failing, uid)
	}
	if parent := o.byUID[uid]; parent != nil {
		o.show(parent)
	}
}

// setReady has an object become ready, or not, or, with nil, as usual.
func (o *objects) setReady(key objectkey.Key, ready *bool) {
	o.memory.SetReady(key, ready)
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, shown := range o.byUID {
		if apply.KeyOf(shown.Unstructured) == key {
			o.show(shown)
		}
	}
}

// ownerOf returns the UID of the controller of an object, or empty.
func ownerOf(u *unstructured.Unstructured) types.UID {
	if owner := metav1.GetControllerOfNoCopy(u); owner != nil {
		return owner.UID
	}
	return ""
}

// showAll sends all objects whose roles have changed. The lock is held.
func (o *objects) showAll() {
	for _, shown := range o.byUID {
		o.show(shown)
	}
}

// show sends an object, and its children if it has become another thing. The lock is held.
func (o *objects) show(shown *object) {
	role, definition := o.roleOf(shown)
	changed := role != shown.role && (role == roleParent || shown.role == roleParent) || definition != shown.definition
	shown.role, shown.definition = role, definition
	if o.memory != nil || role != roleOther {
		state, message := o.stateOf(shown)
		o.stream.put(string(shown.GetUID()), "object", objectMessage{
			Event: "ADDED", Role: role, State: state, Message: message, Owner: ownerOf(shown.Unstructured), Definition: definition,
			Object: shown.Object,
		})
	} else {
		o.stream.remove(string(shown.GetUID()), objectMessage{Event: "DELETED", Role: role, Object: shown.Object})
	}
	if changed {
		for _, other := range o.byUID {
			if ownerOf(other.Unstructured) == shown.GetUID() {
				o.show(other)
			}
		}
	}
}

// roleOf returns what an object is, and of which definition.
func (o *objects) roleOf(shown *object) (role, definition string) {
	gk := shown.GroupVersionKind().GroupKind()
	switch {
	case v1alpha1.IsDefinition(gk):
		return roleDefinition, ""
	case gk == crdKind:
		return roleCRD, ""
	}
	var names []string
	for _, d := range o.rules {
		if slices.ContainsFunc(d.parents, func(r variant.ParentRule) bool {
			return r.GroupResource() == shown.resource && r.Selects(shown.Unstructured)
		}) {
			names = append(names, d.name)
		}
	}
	if len(names) > 0 {
		return roleParent, slices.Min(names)
	}
	if owner := o.byUID[ownerOf(shown.Unstructured)]; owner != nil && owner.role == roleParent {
		return roleChild, owner.definition
	}
	return roleOther, ""
}

var stateNames = map[readiness.State]string{
	readiness.Ready: "ready", readiness.InProgress: "waiting", readiness.Failed: "failing", readiness.Terminating: "deleting",
}

// stateOf returns how an object is, and why.
func (o *objects) stateOf(shown *object) (state, message string) {
	status := readiness.Of(shown.Unstructured)
	if failure := o.failing[shown.GetUID()]; failure != "" && status.State != readiness.Terminating {
		return "failing", strings.TrimSpace(failure)
	}
	switch isUnready := o.memory != nil && !ptr.Deref(o.memory.Ready(apply.KeyOf(shown.Unstructured)), true); {
	case isUnready && status.State == readiness.InProgress:
		return "failing", "it is set to fail: " + status.Reason
	case isUnready && status.State == readiness.Ready:
		return "ready", "it is set to fail, and nothing in its status says so"
	}
	return stateNames[status.State], status.Reason
}
