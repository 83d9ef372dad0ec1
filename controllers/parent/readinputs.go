package parent

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// readInputs is a set of those inputs of a pass that count only if they were read. All others always count: see
// docs/design/parent/idle.md.
type readInputs uint8

const (
	readVersion readInputs = 1 << iota // the parent's resourceVersion
	readLabels                         // the parent's labels
	readAnnotations
	readStatus
	readRelated // the related objects and their kinds
)

// inputPaths are the paths by which a hook reads the inputs. The parent is the object of a decorator's request.
var inputPaths = []struct {
	input readInputs
	path  string
}{
	{readVersion, "parent.metadata.resourceVersion"}, {readVersion, "object.metadata.resourceVersion"},
	{readLabels, "parent.metadata.labels"}, {readLabels, "object.metadata.labels"},
	{readAnnotations, "parent.metadata.annotations"}, {readAnnotations, "object.metadata.annotations"},
	{readStatus, "parent.status"}, {readStatus, "object.status"},
	{readRelated, "related"},
}

// inputsIn returns the inputs that a program has read.
func inputsIn(read engines.ReadSet) (inputs readInputs) {
	for _, known := range inputPaths {
		if inputs&known.input == 0 && read.Contains(known.path) {
			inputs |= known.input
		}
	}
	return inputs
}

// contentOf returns what counts of a parent: all of it but the inputs that were not read. Its values are shared.
func contentOf(parent *unstructured.Unstructured, read readInputs) map[string]any {
	metadata := jsonvalue.Clone(jsonvalue.ObjectIn(parent.Object, "metadata"))
	content := jsonvalue.With(parent.Object, "metadata", metadata)
	dropUnread := func(fields map[string]any, field string, input readInputs) {
		if read&input == 0 {
			delete(fields, field)
		}
	}
	dropUnread(metadata, "resourceVersion", readVersion)
	dropUnread(metadata, "labels", readLabels)
	dropUnread(metadata, "annotations", readAnnotations)
	dropUnread(content, "status", readStatus)
	return content
}

// hashParent returns a hash of what counts of a parent.
func hashParent(parent *unstructured.Unstructured, read readInputs) uint64 {
	return jsonvalue.Hash(contentOf(parent, read))
}

// noteRead adds what a program has read.
func (p *pass) noteRead(read readInputs) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read |= read
}

// inputsOf returns the inputs that count for the result of the pass: what the hooks and the variant have read, and what
// this package compares with the desired state.
func (p *pass) inputsOf(desired variant.Desired) readInputs {
	counted := p.read
	if len(desired.Labels) > 0 {
		counted |= readLabels
	}
	if len(desired.Annotations) > 0 {
		counted |= readAnnotations
	}
	if p.hasStatus(desired) || p.revisions != nil {
		counted |= readStatus
	}
	return counted
}

// isSettled reports whether another pass over the parent as it is now would find the same and write nothing, so that this pass
// can be remembered. It may have written the parent, if no hook has read what it wrote.
func (p *pass) isSettled(desired variant.Desired) bool {
	switch {
	case !p.wrote:
		return true
	case p.wroteChildren:
		return false
	case hashParent(p.observed.Parent, p.read) != hashParent(p.parent, p.read), len(p.metadataPatch(p.parent, desired)) > 0:
		return false
	case !p.hasStatus(desired):
		return true
	case desired.StatusOrigin == variant.StatusMerged || p.revisions != nil: // It is made of the observed status, which must be that already.
		return sameStatus(comparedStatus(p.source.Resource, p.parent, desired.Status), desired.Status)
	default:
		return p.status.Stored(p.source.Resource, p.parent, desired.Status)
	}
}
