// Package artifact reads what Flux has made of a source: the archive at a URL that is in the status of an object, with its digest. It is
// fetched from the hosts that are allowed alone, and unpacked within the limits of bundles.
package artifact

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/runtime/values/printable"
	"github.com/libretto-k8s/libretto/runtime/watchset/objectwatch"
	"github.com/libretto-k8s/libretto/scripts/directory"
)

// groupVersion is that of all kinds.
var groupVersion = schema.GroupVersion{Group: "source.toolkit.fluxcd.io", Version: "v1"}

// APIVersion is that of the objects.
var APIVersion = groupVersion.String()

// plurals are the resources of the kinds that have artifacts of files.
var plurals = map[string]string{
	"GitRepository": "gitrepositories", "OCIRepository": "ocirepositories", "Bucket": "buckets", "ExternalArtifact": "externalartifacts",
}

// ResourceFor returns the resource of a kind, and whether the kind is known.
func ResourceFor(kind string) (schema.GroupVersionResource, bool) {
	plural, known := plurals[kind]
	return groupVersion.WithResource(plural), known
}

// customs returns the kinds for objectwatch.
func customs() map[objectwatch.Kind]objectwatch.Custom {
	kinds := map[objectwatch.Kind]objectwatch.Custom{}
	for kind := range plurals {
		resource, _ := ResourceFor(kind)
		kinds[objectwatch.Kind(kind)] = objectwatch.Custom{
			Resource: resource, Data: statusData,
			Missing: fmt.Sprintf("the cluster has no %s in version %s: install that part of Flux, or correct the kind in scriptSources",
				resource.GroupResource(), resource.Version),
		}
	}
	return kinds
}

// Artifact is what the status of an object says of its artifact.
type Artifact struct {
	URL, Digest string
	// Revision names the source's state for people, as main@sha1:1a2b3c.
	Revision string
}

// Keys of a snapshot's data.
const (
	urlKey      = "url"
	digestKey   = "digest"
	revisionKey = "revision"
)

// maxRevision bounds a revision, in bytes.
const maxRevision = 200

// statusData returns the fields of status.artifact.
func statusData(object *unstructured.Unstructured) map[string]string {
	data := map[string]string{}
	for _, key := range []string{urlKey, digestKey, revisionKey} {
		if text, _, _ := unstructured.NestedString(object.Object, "status", "artifact", key); text != "" {
			data[key] = text
		}
	}
	return data
}

// artifactOf returns the artifact of an object. It has no URL if there is none yet.
func artifactOf(data map[string]string) Artifact {
	revision := printable.Line(data[revisionKey])
	return Artifact{URL: data[urlKey], Digest: data[digestKey], Revision: strings.ToValidUTF8(revision[:min(len(revision), maxRevision)], "")}
}

// errNone is why there are no files while an object has no artifact.
var errNone = errors.New("has no artifact yet: its condition Ready says why")

// below returns which entries of an archive are files below a folder, and their paths there. What a directory of the host would leave out
// is left out.
func below(folder string) func(name string) (string, bool) {
	folder = path.Clean(folder)
	return func(name string) (string, bool) {
		name = strings.TrimPrefix(name, "./")
		if folder != "." {
			rest, found := strings.CutPrefix(name, folder+"/")
			if !found {
				return "", false
			}
			name = rest
		}
		for part := range strings.SplitSeq(name, "/") {
			if part != ".." && directory.IsIgnored(part) {
				return "", false
			}
		}
		return name, true
	}
}
