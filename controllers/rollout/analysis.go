package rollout

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// AnalysisResult is what the checks of a step come to.
type AnalysisResult int

const (
	// AnalysisUnknown means that a check could not be made, or is being made. It is never taken for success.
	AnalysisUnknown AnalysisResult = iota
	// AnalysisPassed means that all checks hold.
	AnalysisPassed
	// AnalysisFailed means that a check does not hold.
	AnalysisFailed
)

// Analysis is what the checks of a step said when they were made last.
type Analysis struct {
	// ID is that of the request.
	ID string
	// At is when they were begun.
	At     time.Time
	Result AnalysisResult
	// Check is the first check that does not hold, or could not be made, as a place in the spec, and Message what it says.
	Check, Message string
}

// AnalysisRequest asks for the checks of the present step.
type AnalysisRequest struct {
	// ID identifies the checks and the attempt at the step. It is empty if there is nothing to check.
	ID string
	// Since is when they may be begun at the earliest, or zero: at the end of a pause they are to be made once more.
	Since time.Time
	// Step is the number of the step, from 1.
	Step int
}

// analysis returns what the checks of a step say that goes well otherwise, and asks for them.
func (d *decision) analysis(step, members int) (result AnalysisResult, why string) {
	if step >= d.last() || members == 0 || len(d.Spec.Steps[step-1].Analysis) == 0 {
		return AnalysisPassed, ""
	}
	want := AnalysisRequest{ID: d.analysisID(step), Step: step}
	if d.next.PausedAt != nil && d.pauseLeft(step, members) <= 0 {
		want.Since = d.pauseEnd(step)
	}
	d.result.Analyze = want
	if a := d.Analysis; a.ID == want.ID && !a.At.Before(want.Since) {
		return a.Result, fmt.Sprintf("%s: %s", a.Check, a.Message)
	}
	return AnalysisUnknown, fmt.Sprintf("spec.scriptRollout.steps[%d].analysis, which is being made", step-1)
}

// analysisID identifies the checks of an attempt at a step.
func (d *decision) analysisID(step int) string {
	checks, _ := json.Marshal(d.Spec.Steps[step-1].Analysis) // It has been read from JSON.
	sum := sha256.Sum256(checks)
	return d.next.Request("analyze") + " " + hex.EncodeToString(sum[:8])
}

// failAnalysis does what the failure policy says. What is held for a check keeps its message, whose numbers would change all the time.
func (d *decision) failAnalysis(why string) {
	if check, _, _ := strings.Cut(why, ": "); d.next.Phase == v1alpha1.ScriptsHeld && strings.Contains(d.next.Message, check+": ") {
		return
	}
	d.fail(why)
}

// childrenBefore returns known, without parents that are gone, and with the children of those that have the edit from this step on, as they
// are before it. Those of the last step are left out, as that has no analysis.
func (d *decision) childrenBefore(step int, known []v1alpha1.ParentChildren) []v1alpha1.ParentChildren {
	after, counted := AssignmentOf(d.Spec, &d.next), ChildrenByParent(known)
	var all, more []v1alpha1.ParentChildren
	for _, p := range d.Parents {
		n, is := counted[p.Hash]
		switch {
		case is:
			all = append(all, v1alpha1.ParentChildren{Parent: int64(p.Hash), Children: int32(n)})
		case len(known)+len(more) < maxRemembered && step < d.last() && p.Children != nil && after.HasUpdated(p.Member):
			more = append(more, v1alpha1.ParentChildren{Parent: int64(p.Hash), Children: int32(p.Children())})
		}
	}
	all = append(all, more...)
	slices.SortFunc(all, func(a, b v1alpha1.ParentChildren) int { return cmp.Compare(a.Parent, b.Parent) })
	return all
}

// ChildrenByParent returns numbers of children by the hash of their parent.
func ChildrenByParent(of []v1alpha1.ParentChildren) map[uint32]int {
	all := make(map[uint32]int, len(of))
	for _, p := range of {
		all[uint32(p.Parent)] = int(p.Children)
	}
	return all
}

// lost returns which parents have fewer children than before the edit, or empty. That is no failure: an edit may mean it.
func (d *decision) lost(members []Parent) (text string) {
	before, others := ChildrenByParent(d.next.ChildrenBefore), 0
	for _, p := range members {
		then, is := before[p.Hash]
		if !is || p.Children == nil {
			continue
		}
		switch now := p.Children(); {
		case now >= then:
		case text == "":
			text = fmt.Sprintf("%s has %d of the %d children that it had before", p.Name, now, then)
		default:
			others++
		}
	}
	if others > 0 {
		text += fmt.Sprintf("; %d other parents have fewer, too", others)
	}
	return text
}
