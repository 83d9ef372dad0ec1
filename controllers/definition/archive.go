package definition

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/scripts"
	"github.com/libretto-k8s/libretto/scripts/archive"
)

// archiveOf returns where the scripts of a plan are kept across restarts. The definition owns
// them, so that they outlive their ConfigMaps.
func (r *Reconciler) archiveOf(p *Plan, spec scripts.Spec) *archive.Location {
	return &archive.Location{
		Namespace: archiveNamespace(spec.Sources, r.config.Namespace),
		Owner: metav1.OwnerReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: p.kind, Name: p.name, UID: p.uid, Controller: ptr.To(true),
		},
	}
}

// archiveNamespace returns the namespace of all sources. If there are several namespaces or
// a directory, it returns the host's own: text must not be copied into a namespace with other
// readers.
func archiveNamespace(sources []scripts.Source, own string) string {
	namespace := ""
	for _, source := range sources {
		if source.ConfigMap == nil || namespace != "" && namespace != source.ConfigMap.Namespace {
			return own
		}
		namespace = source.ConfigMap.Namespace
	}
	if namespace == "" {
		return own
	}
	return namespace
}
