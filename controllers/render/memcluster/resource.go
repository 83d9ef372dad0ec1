package memcluster

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// Resource is an endpoint of the cluster and what its schema does to objects.
type Resource struct {
	discovery.Resource
	// Generation says that changes of anything but metadata and status are counted.
	Generation bool
	// Drops are dotted paths of fields that are not stored.
	Drops []string
	// Defaults are values by dotted path, stored where there is none.
	Defaults map[string]any
}

// Custom gives a resource as a CustomResourceDefinition makes it.
func Custom(apiVersion, kind, resource string, namespaced, status bool) (Resource, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return Resource{}, err
	}
	return Resource{Generation: true, Resource: discovery.Resource{
		GroupVersionResource: gv.WithResource(resource), Kind: gv.WithKind(kind), Namespaced: namespaced, HasStatus: status, Custom: true,
	}}, nil
}

// traits are what tells the built-in resources apart.
type traits int

const (
	namespaced traits = 1 << iota
	status
	generation
)

// builtIn is a line of the table of what every API server has.
type builtIn struct {
	group, version, kind, resource string
	traits                         traits
}

// ownGroup is that of the resources that Libretto brings.
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
}

// BuiltIn gives the resources that are there without any CustomResourceDefinition
// but Libretto's own.
func BuiltIn() []Resource {
	resources := make([]Resource, len(builtIns))
	for i, b := range builtIns {
		gv := schema.GroupVersion{Group: b.group, Version: b.version}
		resources[i] = Resource{Generation: b.traits&generation != 0, Resource: discovery.Resource{
			GroupVersionResource: gv.WithResource(b.resource), Kind: gv.WithKind(b.kind),
			Namespaced: b.traits&namespaced != 0, HasStatus: b.traits&status != 0, Custom: b.group == ownGroup,
		}}
		if !resources[i].HasStatus {
			resources[i].Drops = []string{"status"}
		}
	}
	return resources
}
