package livecluster

import (
	"context"
	"fmt"

	"k8s.io/utils/ptr"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// Pinned returns a definition of the cluster as it is while an archived revision of its scripts is pinned, or with what its sources hold if
// id is empty. It is compared with what serves. The set must be empty.
func (c *Config) Pinned(ctx context.Context, definition controller.Key, id string) (*Subject, error) {
	d, err := c.Reader.Definition(ctx, definition)
	if err == nil && d == nil {
		err = fmt.Errorf("there is no %s", definition)
	}
	if err != nil {
		return nil, err
	}
	in, err := c.surroundings()
	if err != nil {
		return nil, err
	}
	var s *Subject
	if id != "" {
		s, err = c.archived(ctx, d, id, in)
	} else {
		own := *c
		if own.Set, err = manifest.Load(ctx, manifest.Options{}); err != nil {
			return nil, err
		}
		own.Set.AddStored(d.DeepCopy())
		s, err = own.subject(ctx, own.Set.Definitions[0], d, in)
	}
	if err != nil {
		return nil, err
	}
	before, _, err := served(d, nil)
	if err != nil {
		return nil, err
	}
	set, status, err := rolloutOf(d)
	if err != nil {
		return nil, err
	}
	s.edit = &edit{previewed: true, id: s.Revision, limits: ptr.Deref(set, v1alpha1.ScriptRollout{}).Preview}
	s.edit.gone = s.goneBefore(d, set)
	// In the middle of a rollout parents have two revisions. What both would do is the fault of neither; otherwise all counts.
	if updated := ptr.Deref(status.ScriptRollout, v1alpha1.ScriptRolloutStatus{}).UpdatedRevision; updated != "" {
		isStable := string(s.Revision) == before
		if before = ""; isStable {
			before = updated
		}
	}
	if before != "" {
		s.edit.serving = c.servingSubject(ctx, d, before, in)
	}
	c.setOthers(s, d, in)
	return s, nil
}
