package definition

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/scripts"
	"github.com/libretto-k8s/libretto/scripts/archive"
)

// archiveOf says where the scripts of a plan are kept across restarts. They are the
// definition's, not the ConfigMaps': those may be deleted, and the scripts go on.
func (r *Reconciler) archiveOf(p *Plan, spec scripts.Spec) *archive.Location {
	return &archive.Location{
		Namespace: archiveNamespace(spec.Sources, r.config.Namespace),
		Owner: metav1.OwnerReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: p.kind, Name: p.name, UID: p.uid, Controller: ptr.To(true),
		},
	}
}

// archiveNamespace is the one namespace that all sources are of. Text of several, or of
// a directory, is kept where the host keeps its own things: whoever may read or write
// in one namespace need not be allowed to in another.
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
