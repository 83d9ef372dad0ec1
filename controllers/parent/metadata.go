package parent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/controllers/parent/loops"
	"github.com/libretto-k8s/libretto/controllers/parent/sources"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// writeMetadata sets the desired labels and annotations of the parent, and removes the finalizer
// if the finalize hook is done. It is the last write: without the finalizer a parent that is
// being deleted is gone. If the API server refuses the labels or annotations, the finalizer is removed without them.
func (p *pass) writeMetadata(ctx context.Context, desired variant.Desired) error {
	err := p.mergeDesired(ctx, desired)
	if !failure.IsRefused(err) || !p.removesFinalizer(p.parent, desired) || len(desired.Labels)+len(desired.Annotations) == 0 {
		return err
	}
	return errors.Join(withoutFinalizerAnyway(err), p.mergeDesired(ctx, variant.Desired{Finalized: true}))
}

// mergeDesired is writeMetadata in one patch.
func (p *pass) mergeDesired(ctx context.Context, desired variant.Desired) error {
	asked, before := p.parent, p.parent
	if len(p.metadataPatch(asked, desired)) == 0 {
		return nil
	}
	if p.partBacksOff(ctx, loops.ParentMetadata) {
		if desired.Labels, desired.Annotations = nil, nil; len(p.metadataPatch(asked, desired)) == 0 {
			return nil
		}
	}
	updated, err := p.patchMetadata(ctx, asked, p.source, func(parent *unstructured.Unstructured) (map[string]any, error) {
		if !sameSpec(asked, parent) {
			return nil, fmt.Errorf("metadata: %w: the hooks have not seen the parent's newest spec", controller.ErrLater)
		}
		before = parent
		return p.metadataPatch(parent, desired), nil
	})
	if err != nil {
		return err
	}
	p.parent, p.writes.any = updated, true
	p.notePart(loops.ParentMetadata, before)
	return nil
}

// metadataPatch returns the merge patch of the parent's metadata.
func (p *pass) metadataPatch(parent *unstructured.Unstructured, desired variant.Desired) map[string]any {
	metadata := map[string]any{}
	addDifference(metadata, "labels", parent.GetLabels(), desired.Labels)
	addDifference(metadata, "annotations", parent.GetAnnotations(), desired.Annotations)
	if p.removesFinalizer(parent, desired) {
		metadata["finalizers"] = withoutFinalizer(parent.GetFinalizers(), p.config.Finalizing.Name)
	}
	return metadata
}

// removesFinalizer reports whether the finalizer is to be removed from the parent.
func (p *pass) removesFinalizer(parent *unstructured.Unstructured, desired variant.Desired) bool {
	return desired.Finalized && p.observed.Finalizing && p.source.HasFinalizer(parent) && p.shouldFinalize(parent, p.source)
}

// patchMetadata merges the result of wanted into the parent's metadata. After a conflict it
// reads the parent and calls wanted again, so that frequent writes of others do not block
// it. It returns the parent unchanged if wanted returns nothing.
func (r *shared) patchMetadata(
	ctx context.Context, parent *unstructured.Unstructured, source *sources.Parent,
	wanted func(parent *unstructured.Unstructured) (map[string]any, error),
) (*unstructured.Unstructured, error) {
	updated, err := r.mergeMetadata(ctx, parent, source, wanted)
	for range maxConflictRetries {
		if !apierrors.IsConflict(err) {
			break
		}
		live, getErr := r.live(ctx, parent, source)
		if getErr != nil {
			return nil, getErr
		}
		updated, err = r.mergeMetadata(ctx, live, source, wanted)
	}
	return updated, err
}

// mergeMetadata is patchMetadata without the retry. A request is not canceled when ctx ends, as
// it may have succeeded.
func (r *shared) mergeMetadata(
	ctx context.Context, parent *unstructured.Unstructured, source *sources.Parent,
	wanted func(parent *unstructured.Unstructured) (map[string]any, error),
) (*unstructured.Unstructured, error) {
	metadata, err := wanted(parent)
	if err != nil {
		return nil, err
	}
	if len(metadata) == 0 {
		return parent, nil
	}
	metadata["uid"], metadata["resourceVersion"] = parent.GetUID(), parent.GetResourceVersion()
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	updated, err := r.env.Client.Resource(source.GroupVersionResource).Namespace(parent.GetNamespace()).
		Patch(context.WithoutCancel(ctx), parent.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, errGone
	case apierrors.IsConflict(err):
		return nil, fmt.Errorf("metadata: %w: %w", controller.ErrLater, err)
	case err != nil:
		return nil, failure.ApplyFailed("metadata", err)
	}
	updated.SetManagedFields(nil)
	r.pendingWrites.NoteWritten(parent.GetUID(), updated, false)
	return updated, nil
}

// live reads a parent after a conflict. It returns an error if the parent is gone, or its
// deletion has begun since: the pass does not know about that.
func (r *shared) live(ctx context.Context, parent *unstructured.Unstructured, source *sources.Parent) (*unstructured.Unstructured, error) {
	live, err := r.get(ctx, source.GroupVersionResource, parent.GetNamespace(), parent.GetName())
	switch {
	case apierrors.IsNotFound(err), err == nil && live.GetUID() != parent.GetUID():
		return nil, errGone
	case err != nil:
		return nil, fmt.Errorf("looking at the parent after a conflict: %w: %w", controller.ErrLater, err)
	case (live.GetDeletionTimestamp() == nil) != (parent.GetDeletionTimestamp() == nil):
		return nil, fmt.Errorf("%w: the parent is being deleted, and the hooks have not seen that", controller.ErrLater)
	}
	live.SetManagedFields(nil)
	r.pendingWrites.NoteWritten(parent.GetUID(), live, false)
	return live, nil
}

// sameSpec reports whether two versions of an object differ only in metadata and status.
func sameSpec(a, b *unstructured.Unstructured) bool {
	rest := func(object *unstructured.Unstructured) map[string]any {
		fields := maps.Clone(object.Object)
		delete(fields, "metadata")
		delete(fields, "status")
		return fields
	}
	return a == b || jsonvalue.Equal(rest(a), rest(b))
}

// addDifference adds to a merge patch the changes from current to desired. A nil entry of
// desired must be absent.
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
