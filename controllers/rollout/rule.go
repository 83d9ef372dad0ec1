package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// Rule says which edits are held.
type Rule interface {
	// WantsAll reports whether all parents are previewed, or a sample.
	WantsAll() bool
	// IsViolated reports whether what a batch shows counts if it is the fault of the new scripts.
	IsViolated(*Batch) bool
	// IsDecided reports whether the edit is held whatever other parents show.
	IsDecided(*Findings) bool
	// violations returns why the edit is held, or nothing.
	violations(*Findings) []string
}

// RuleOf returns the rule of a definition with limits for all parents, which may be nil: then it is that for a sample.
func RuleOf(limits *v1alpha1.ScriptPreview) Rule {
	if limits == nil {
		return sampleRule{}
	}
	return limitRule{ScriptPreview: limits, field: limitsOfEdits}
}

// limitsOfEdits is the field that has the limits for edits.
const limitsOfEdits = "spec.scriptRollout.preview"

// SampleSize is how many parents there are in the sample: those of which the hashes of the UIDs are lowest.
const SampleSize = 100

// minDestroyed is how many children an edit must delete or recreate to be held for it.
const minDestroyed = 2

// sampleRule holds an edit that destroys more than half of the children of a sample, or of those of one kind, or makes a parent fail.
type sampleRule struct{}

func (sampleRule) WantsAll() bool           { return false }
func (sampleRule) IsDecided(*Findings) bool { return true }

func (sampleRule) IsViolated(b *Batch) bool {
	f := NewFindings()
	f.Add(b)
	return len(sampleRule{}.violations(f)) > 0
}

func (sampleRule) violations(f *Findings) []string {
	var violations []string
	if destroysTooMuch(f, anyKind) {
		violations = append(violations, f.describeDestroyed(anyKind, anyAction, ""))
	} else {
		kinds := slices.SortedFunc(maps.Keys(f.children), func(a, b schema.GroupKind) int { return cmp.Compare(a.String(), b.String()) })
		for _, kind := range kinds {
			if kind != anyKind && destroysTooMuch(f, kind) {
				violations = append(violations, f.describeDestroyed(kind, anyAction, ""))
			}
		}
	}
	if f.failing > 0 {
		violations = append(violations, f.failure(""))
	}
	return violations
}

func destroysTooMuch(f *Findings, kind schema.GroupKind) bool {
	destroyed := f.countOf(kind, anyAction)
	return destroyed >= minDestroyed && 2*destroyed > f.children[kind]
}

// limitRule holds an edit that exceeds a limit of the definition. field has the limits.
type limitRule struct {
	*v1alpha1.ScriptPreview
	field string
	// shards is how many guards share the limits of deletions, or zero.
	shards int
}

// share returns the share in a limit of deletions. A number is divided, rounded down, so that all shards together do not exceed it. Of a
// percentage each has all, of its own children.
func (r limitRule) share(limit *intstr.IntOrString) *intstr.IntOrString {
	if r.shards <= 1 || !isNumber(limit) {
		return limit
	}
	return new(intstr.FromInt(limit.IntValue() / r.shards))
}

func (limitRule) WantsAll() bool { return true }

func (r limitRule) IsViolated(b *Batch) bool {
	return r.MaxDeletedChildren != nil && b.count(Delete) > 0 ||
		r.MaxRecreatedChildren != nil && b.count(Recreate) > 0 || r.MaxFailingParents != nil && len(b.failing) > 0
}

// IsDecided knows the number of all parents, and not yet that of all children.
func (r limitRule) IsDecided(f *Findings) bool {
	return isNumber(r.MaxDeletedChildren) && exceeds(f.countOf(anyKind, Delete), r.share(r.MaxDeletedChildren), 0) ||
		isNumber(r.MaxRecreatedChildren) && exceeds(f.countOf(anyKind, Recreate), r.share(r.MaxRecreatedChildren), 0) ||
		exceeds(f.failing, r.MaxFailingParents, f.Total)
}

// violations counts parents as failing if a call for them was not made because calls for others take too long.
func (r limitRule) violations(f *Findings) []string {
	var violations []string
	if f.adds(Delete) && exceeds(f.countOf(anyKind, Delete), r.share(r.MaxDeletedChildren), f.children[anyKind]) {
		violations = append(violations, f.describeDestroyed(anyKind, Delete, r.than("maxDeletedChildren", r.MaxDeletedChildren)))
	}
	if f.adds(Recreate) && exceeds(f.countOf(anyKind, Recreate), r.share(r.MaxRecreatedChildren), f.children[anyKind]) {
		violations = append(violations, f.describeDestroyed(anyKind, Recreate, r.than("maxRecreatedChildren", r.MaxRecreatedChildren)))
	}
	switch more := r.than("maxFailingParents", r.MaxFailingParents); {
	case exceeds(f.failing, r.MaxFailingParents, f.Total):
		violations = append(violations, f.failure(more))
	case f.failing > 0 && exceeds(f.failing+f.unmade, r.MaxFailingParents, f.Total):
		more = fmt.Sprintf(", and with them %d that were not called about because these take too long%s", f.unmade, more)
		violations = append(violations, f.failure(more))
	}
	return violations
}

// than returns which limit is exceeded.
func (r limitRule) than(name string, limit *intstr.IntOrString) string {
	if limit == nil {
		return ""
	}
	more := fmt.Sprintf(", more than %s.%s: %s allows", r.field, name, limit)
	if share := r.share(limit); *share != *limit {
		more += fmt.Sprintf(", of which a shard has %s", share)
	}
	return more
}

func isNumber(limit *intstr.IntOrString) bool { return limit != nil && limit.Type == intstr.Int }

// exceeds reports whether a number is above a limit, which may be a percentage of all. Nil is no limit, and neither is all: a child that is
// just recreated as its parent asks for it may be missing in the number of all.
func exceeds(number int, limit *intstr.IntOrString, all int) bool {
	if limit == nil || *limit == intstr.FromString("100%") {
		return false
	}
	most, err := intstr.GetScaledValueFromIntOrPercent(limit, all, false)
	return err == nil && number > most // The schema of the definition lets no other text in.
}
