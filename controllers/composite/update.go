package composite

import (
	"fmt"

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
	desired.ParentReads = v.pathReads
	if desired.Waiting != nil {
		v.wait(&desired, h, observed)
		return desired, nil
	}
	r := &rollingUpdate{history: h, children: v.rollingChildren(observed, h, desired.Children)}
	r.versions = v.setVersions(observed.Parent, r.children, wanted)
	if err := compareVersions(r.children, h.updateRevision, observed.UpToDate); err != nil {
		return variant.Desired{}, err
	}
	v.keepUnknown(r.children, observed)
	r.run()
	r.useCurrentVersions(&desired)
	desired.Warnings = v.warnings(h)
	r.setCondition(&desired, observed)
	desired.Revisions, err = v.desiredRevisions(observed, r)
	return desired, err
}

// readResponses reads the whole answer for the update revision and only the children of the
// others, by revision. The earliest resync of any answer counts, and the parent is finalized
// if all of them say so. It waits if any of them does. What other scripts that fail or wait would want
// does not count: an edit that corrects them must come through.
func (v *Variant) readResponses(
	observed variant.Observed, h *history, answers []variant.Answer,
) (variant.Desired, map[*revision][]*unstructured.Unstructured, error) {
	desired, err := v.readResponse(answers[0], observed, v.finishFor(observed.Parent))
	if err != nil {
		return desired, nil, err
	}
	wanted := map[*revision][]*unstructured.Unstructured{}
	for i, r := range h.live()[1:] {
		old, err := v.readResponse(answers[i+1], observed, v.finishForOld(observed.Parent))
		if r.hasOtherScripts(observed) && (err != nil || old.Waiting != nil) {
			h.setUnusable(&desired, r, old.Waiting, err)
			continue
		}
		if err != nil {
			return desired, nil, fmt.Errorf("ControllerRevision %s: %w (this is about the earlier state of the parent that some children are of: "+
				"if that can't be mended, delete the ControllerRevision, and they stay as they are until it is their turn)", r.name, err)
		}
		wanted[r] = old.Children
		if old.Waiting != nil && desired.Waiting == nil {
			desired.Waiting = &variant.Wait{Reason: old.Waiting.Reason, Message: fmt.Sprintf(
				"%s (about the earlier state of the parent that some children are of, ControllerRevision %s)", old.Waiting.Message, r.name)}
		}
		desired.ResyncAfterSeconds = variant.Earlier(desired.ResyncAfterSeconds, old.ResyncAfterSeconds)
		desired.Finalized = desired.Finalized && old.Finalized
	}
	return desired, wanted, nil
}

// useCurrentVersions replaces children of old revisions in the desired state by their current
// versions. A child that has none is kept as it is, even if it is missing.
func (r *rollingUpdate) useCurrentVersions(desired *variant.Desired) {
	at := make(map[apply.Key]int, len(desired.Children))
	for i, child := range desired.Children {
		at[apply.KeyOf(child)] = i
	}
	for _, c := range r.children {
		switch {
		case c.revision == r.updateRevision:
		case c.currentVersion != nil:
			desired.Children[at[c.key]] = c.currentVersion
		default:
			if desired.Keep == nil {
				desired.Keep = map[apply.Key]bool{}
			}
			desired.Keep[c.key] = true
		}
	}
}
