package definition

import "github.com/libretto-k8s/libretto/controllers/api/v1alpha1"

// ArchiveNamespace returns where a host in the namespace own archives the scripts of a definition with these sources.
func ArchiveNamespace(sources []v1alpha1.ScriptSource, own string) string {
	return archiveNamespace(sourcesOf(sources), own)
}
