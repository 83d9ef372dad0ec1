package parent

import (
	"context"
)

// writeMetadata sets the labels and annotations that the hooks want on the
// parent, and takes the finalizer off if the finalize hook is done with it. It
// comes last: without the finalizer a parent that is being deleted is gone.
func (p *pass) writeMetadata(ctx context.Context, desired Desired) error {
	metadata := map[string]any{}
	addDifference(metadata, "labels", p.parent.GetLabels(), desired.Labels)
	addDifference(metadata, "annotations", p.parent.GetAnnotations(), desired.Annotations)
	if desired.Finalized && p.observed.Finalizing && p.held(p.parent) {
		metadata["finalizers"] = without(p.parent.GetFinalizers(), p.config.Finalizing.Name)
	}
	if len(metadata) == 0 {
		return nil
	}
	updated, err := p.patchMetadata(ctx, p.parent, p.source, metadata)
	if err != nil {
		return err
	}
	p.parent, p.wrote = updated, true
	return nil
}

// addDifference adds to a merge patch what has to change for current to have the
// desired entries, of which nil ones are to be absent.
func addDifference(patch map[string]any, field string, current map[string]string, desired map[string]*string) {
	changes := map[string]any{}
	for key, want := range desired {
		have, present := current[key]
		switch {
		case want == nil && present:
			changes[key] = nil
		case want != nil && (!present || have != *want):
			changes[key] = *want
		}
	}
	if len(changes) > 0 {
		patch[field] = changes
	}
}
