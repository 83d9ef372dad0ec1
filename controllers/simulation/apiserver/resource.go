package apiserver

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
)

// resource is a resource with what clients are told of it.
type resource struct {
	memcluster.Resource
	singular               string
	shortNames, categories []string
	columns                []column       // with the name
	review                 map[string]any // Set if nothing is stored.
	scale                  *apiextensionsv1.CustomResourceSubresourceScale
}

func (r *resource) isNamespace() bool { return r.Group == "" && r.Kind.Kind == "Namespace" }

// shortNames are those of built-in resources.
var shortNames = map[string][]string{
	"configmaps": {"cm"}, "namespaces": {"ns"}, "nodes": {"no"}, "persistentvolumeclaims": {"pvc"}, "pods": {"po"}, "services": {"svc"},
	"serviceaccounts": {"sa"}, "daemonsets": {"ds"}, "deployments": {"deploy"}, "replicasets": {"rs"}, "statefulsets": {"sts"},
	"cronjobs": {"cj"}, "ingresses": {"ing"}, "endpoints": {"ep"}, "events": {"ev"}, "limitranges": {"limits"}, "persistentvolumes": {"pv"},
	"replicationcontrollers": {"rc"}, "resourcequotas": {"quota"}, "horizontalpodautoscalers": {"hpa"}, "networkpolicies": {"netpol"},
	"poddisruptionbudgets": {"pdb"}, "priorityclasses": {"pc"}, "storageclasses": {"sc"}, "customresourcedefinitions": {"crd", "crds"},
}

// inAll are the built-in resources of the category all.
var inAll = []string{
	"pods", "replicationcontrollers", "services", "daemonsets", "deployments", "replicasets", "statefulsets", "horizontalpodautoscalers",
	"cronjobs", "jobs",
}

// scaled are the built-in resources with the subresource scale.
var scaled = []string{"deployments", "replicasets", "statefulsets", "replicationcontrollers"}

func builtInResource(of memcluster.Resource) *resource {
	name := of.GroupVersionResource.Resource
	r := &resource{
		Resource: of, singular: strings.ToLower(of.Kind.Kind), shortNames: shortNames[name], columns: columnsOf(of),
	}
	if slices.Contains(inAll, name) {
		r.categories = []string{"all"}
	}
	if slices.Contains(scaled, name) {
		r.scale = &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas"}
	}
	return r
}

// customResource returns a resource of a version of a CustomResourceDefinition.
func customResource(of memcluster.Resource, crd *apiextensionsv1.CustomResourceDefinition) *resource {
	names := crd.Spec.Names
	r := &resource{
		Resource: of, singular: names.Singular, shortNames: names.ShortNames, categories: names.Categories, columns: []column{name, age},
	}
	for _, version := range crd.Spec.Versions {
		if version.Name != of.Version {
			continue
		}
		if version.Subresources != nil {
			r.scale = version.Subresources.Scale
		}
		if len(version.AdditionalPrinterColumns) > 0 {
			r.columns = customColumns(version.AdditionalPrinterColumns)
		}
	}
	return r
}
