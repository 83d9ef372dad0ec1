package composite

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// rollOut makes one desired state of the answers for all live revisions.
func (v *Variant) rollOut(observed variant.Observed, answers []variant.Answer) (variant.Desired, error) {
	h, err := v.history(observed)
	if err != nil {
		return variant.Desired{}, err
	}
	desired, wanted, err := v.readResponses(observed, h, answers)
	if err != nil {
		return variant.Desired{}, err
	}
	r := &rollout{updateRevision: h.updateRevision, history: h, children: v.rollingChildren(observed, h, desired.Children)}
	r.versions = v.setVersions(observed.Parent, r.children, wanted)
	if err := compareVersions(r.children, h.updateRevision, observed.UpToDate); err != nil {
		return variant.Desired{}, err
	}
	r.run()
	r.useCurrentVersions(&desired)
	r.setCondition(&desired, h, observed)
	desired.Revisions, err = v.desiredRevisions(observed, h, r)
	return desired, err
}

// readAll reads the answers: the latest one in full, and of the others their
// children, by revision. A pass is due when any of them asks for it, and the
// parent is finalized when all of them say so.
func (v *Variant) readResponses(observed variant.Observed, h *history, answers []variant.Answer) (variant.Desired, map[*revision][]*unstructured.Unstructured, error) {
	desired, err := v.readResponse(answers[0], observed, v.finishFor(observed.Parent))
	if err != nil {
		return desired, nil, err
	}
	wanted := map[*revision][]*unstructured.Unstructured{}
	for i, r := range h.live()[1:] {
		old, err := v.readResponse(answers[i+1], observed, v.finishForOld(observed.Parent))
		if err != nil {
			return desired, nil, fmt.Errorf("ControllerRevision %s: %w (this is about the earlier state of the parent that some children are of: if that can't be mended, delete the ControllerRevision, and they stay as they are until it is their turn)", r.name, err)
		}
		wanted[r] = old.Children
		desired.ResyncAfterSeconds = sooner(desired.ResyncAfterSeconds, old.ResyncAfterSeconds)
		desired.Finalized = desired.Finalized && old.Finalized
	}
	return desired, wanted, nil
}

// compare finds the members that are as a revision wants them. Where all are of
// the latest one nobody asks.
func compareVersions(members []*rollingChild, latest *revision, upToDate func(observed, desired *unstructured.Unstructured) (bool, error)) error {
	if !slices.ContainsFunc(members, func(m *rollingChild) bool { return m.revision != latest }) {
		return nil
	}
	if upToDate == nil {
		upToDate = isUpToDate
	}
	for _, m := range members {
		var errs [2]error
		m.isUpdated, errs[0] = m.isUpToDate(m.updateVersion, upToDate)
		m.isCurrent, errs[1] = m.isUpToDate(m.currentVersion, upToDate)
		if err := errors.Join(errs[:]...); err != nil {
			return fmt.Errorf("%s: %w", m.key, err)
		}
	}
	return nil
}

// like says whether a member is there and as desired, if that is anything.
func (m *rollingChild) isUpToDate(desired *unstructured.Unstructured, upToDate func(observed, desired *unstructured.Unstructured) (bool, error)) (bool, error) {
	if m.observed == nil || desired == nil {
		return false, nil
	}
	return upToDate(m.observed, desired)
}

// place puts the versions of old revisions where the latest one's stood. A child of
// which there is no such version stays as it is, there or not.
func (r *rollout) useCurrentVersions(desired *variant.Desired) {
	at := make(map[apply.Key]int, len(desired.Children))
	for i, child := range desired.Children {
		at[apply.KeyOf(child)] = i
	}
	for _, m := range r.children {
		switch {
		case m.revision == r.updateRevision:
		case m.currentVersion != nil:
			desired.Children[at[m.key]] = m.currentVersion
		default:
			if desired.Keep == nil {
				desired.Keep = map[apply.Key]bool{}
			}
			desired.Keep[m.key] = true
		}
	}
}
