package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/scripts/archive"
)

// Archive returns where the scripts are kept across restarts by a host in the namespace own. The definition owns them, so that they outlive
// their ConfigMaps.
func (p *Plan) Archive(own string) *archive.Location {
	return &archive.Location{
		Namespace: ArchiveNamespace(&p.Settings, own),
		Owner: metav1.OwnerReference{
			APIVersion: p.object.GetAPIVersion(), Kind: p.Kind, Name: p.Name, UID: p.UID, Controller: new(true),
		},
	}
}
