package memcluster

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// Resource is a resource of the cluster and its schema.
type Resource struct {
	discovery.Resource
	// Generation makes changes outside metadata and status increment metadata.generation.
	Generation bool
	// PrunesStatus is set for a kind that has no status: the field is pruned.
	PrunesStatus bool
	// Finalizer is added to an object that is deleted, for a controller of the cluster. Empty for most.
	Finalizer string
	// Schema decodes and validates the objects. Nil means that Rules are all that is known.
	Schema Schema
	// Rules are of a resource without a Schema. Nil means that nothing is refused but for its metadata.
	Rules Rules
}

// Schema does the API server's part for the objects of a kind. Its methods may be called at the same time.
type Schema interface {
	// Decode drops unknown fields of an object, fills in defaults, and returns the paths of what it
	// dropped. It returns an error for an object that cannot be read, such as one with a text for a number.
	Decode(object map[string]any) (dropped []string, err error)
	// Validate returns what is wrong with an object. old is what it replaces, or nil.
	Validate(object, old *unstructured.Unstructured) field.ErrorList
	// ValidateStatus returns what is wrong with an object of which the status is written.
	ValidateStatus(object, old *unstructured.Unstructured) field.ErrorList
	// TypeConverter returns the types for server-side apply.
	TypeConverter() (managedfields.TypeConverter, error)
}

// Rules tell what an API server surely refuses, of objects as they are sent and as an API server stored them: nothing is decoded. Their
// methods may be called at the same time.
type Rules interface {
	// Refuses returns why an object is refused in the place of another, or of none if that is nil. It returns nil if it is not.
	Refuses(object, old *unstructured.Unstructured) error
	// TypeConverter returns the types for server-side apply.
	TypeConverter() (managedfields.TypeConverter, error)
}

// Custom returns a resource like that of a CustomResourceDefinition.
func Custom(apiVersion, kind, resource string, namespaced, status bool) (Resource, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return Resource{}, err
	}
	return Resource{Generation: true, Resource: discovery.Resource{
		GroupVersionResource: gv.WithResource(resource), Kind: gv.WithKind(kind), Namespaced: namespaced, HasStatus: status, Custom: true,
	}}, nil
}

// traits are the properties of a built-in resource.
type traits int

const (
	namespaced traits = 1 << iota
	status
	generation
)

// builtIn is a row of the table of built-in resources.
type builtIn struct {
	group, version, kind, resource string
	traits                         traits
}

// ownGroup is the API group of Libretto.
const ownGroup = "metacontroller.k8s.io"

var builtIns = []builtIn{
	{"", "v1", "ConfigMap", "configmaps", namespaced},
	{"", "v1", "Namespace", "namespaces", status},
	{"", "v1", "Node", "nodes", status},
	{"", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", namespaced | status},
	{"", "v1", "Pod", "pods", namespaced | status | generation},
	{"", "v1", "Secret", "secrets", namespaced},
	{"", "v1", "Service", "services", namespaced | status},
	{"", "v1", "ServiceAccount", "serviceaccounts", namespaced},
	{"apps", "v1", "DaemonSet", "daemonsets", namespaced | status | generation},
	{"apps", "v1", "Deployment", "deployments", namespaced | status | generation},
	{"apps", "v1", "ReplicaSet", "replicasets", namespaced | status | generation},
	{"apps", "v1", "StatefulSet", "statefulsets", namespaced | status | generation},
	{"batch", "v1", "CronJob", "cronjobs", namespaced | status | generation},
	{"batch", "v1", "Job", "jobs", namespaced | status | generation},
	{ownGroup, "v1alpha1", "ControllerRevision", "controllerrevisions", namespaced | status | generation},
	{"networking.k8s.io", "v1", "Ingress", "ingresses", namespaced | status | generation},
	{"rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", 0},
	{"rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", 0},
	{"rbac.authorization.k8s.io", "v1", "Role", "roles", namespaced},
	{"rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", namespaced},
	{"", "v1", "Endpoints", "endpoints", namespaced},
	{"", "v1", "Event", "events", namespaced},
	{"", "v1", "LimitRange", "limitranges", namespaced},
	{"", "v1", "PersistentVolume", "persistentvolumes", status},
	{"", "v1", "PodTemplate", "podtemplates", namespaced | generation},
	{"", "v1", "ReplicationController", "replicationcontrollers", namespaced | status | generation},
	{"", "v1", "ResourceQuota", "resourcequotas", namespaced | status},
	{"apps", "v1", "ControllerRevision", "controllerrevisions", namespaced},
	{"autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", namespaced | status},
	{"coordination.k8s.io", "v1", "Lease", "leases", namespaced},
	{"discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", namespaced | generation},
	{"networking.k8s.io", "v1", "IngressClass", "ingressclasses", generation},
	{"networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", namespaced | generation},
	{"policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", namespaced | status | generation},
	{"scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", generation},
	{"storage.k8s.io", "v1", "StorageClass", "storageclasses", 0},
}

// BuiltIn returns the built-in resources of Kubernetes and Libretto's own.
func BuiltIn() []Resource {
	resources := make([]Resource, len(builtIns))
	for i, b := range builtIns {
		gv := schema.GroupVersion{Group: b.group, Version: b.version}
		resources[i] = Resource{Generation: b.traits&generation != 0, PrunesStatus: b.traits&status == 0, Resource: discovery.Resource{
			GroupVersionResource: gv.WithResource(b.resource), Kind: gv.WithKind(b.kind),
			Namespaced: b.traits&namespaced != 0, HasStatus: b.traits&status != 0, Custom: b.group == ownGroup,
		}}
	}
	return resources
}
