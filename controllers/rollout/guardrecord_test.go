package rollout

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestGuardRecord checks that a process finds in a status what an earlier one has counted.
func TestGuardRecord(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	one, two := Edit{SpecHash: "1", Revision: "a"}, Edit{SpecHash: "2", Revision: "b"}
	counts := &ChildCounts{Parents: 3, At: at, Children: map[schema.GroupKind]int{{Kind: "Pod"}: 7, {Group: "apps", Kind: "Deployment"}: 2},
		Recreated: map[schema.GroupKind]int{{Kind: "Pod"}: 3}}
	for name, record := range map[string]Record{
		"nothing has served": {},
		"settled":            {Settled: one, Edit: one},
		"counted":            {Settled: one, Edit: one, Before: counts},
		"an edit":            {Settled: one, Edit: two, Since: at},
		"an edit, counted":   {Settled: one, Edit: two, Since: at, Before: counts},
		"no child":           {Settled: one, Edit: two, Since: at, Before: &ChildCounts{At: at, Children: map[schema.GroupKind]int{}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := RecordOf(record.Status())
			if !got.Since.Equal(record.Since) {
				t.Errorf("since %s, want %s", got.Since, record.Since)
			}
			if diff := cmp.Diff(record, got, cmpopts.EquateEmpty(), cmpopts.EquateApproxTime(0)); diff != "" {
				t.Errorf("-stored, +read:\n%s", diff)
			}
		})
	}
	if (Record{}).Status() != nil {
		t.Error("a status of nothing")
	}
	status := Record{Settled: one, Edit: two, Since: at.Add(time.Millisecond), Before: counts}.Status()
	if kinds := []string{status.Children[0].Kind, status.Children[1].Kind}; !cmp.Equal(kinds, []string{"Pod", "Deployment"}) {
		t.Errorf("kinds are not sorted: %v", kinds)
	}
	if status.CountedAt = nil; RecordOf(status).Before != nil {
		t.Error("counts without a time are counted")
	}
}
