package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// TestPlanWarnings checks the warnings about specs.
func TestPlanWarnings(t *testing.T) {
	withStatus, without := kindNamed("Full"), kindNamed("Bare")
	withStatus.HasStatus = true
	cases := map[string]struct {
		reason, kind string
		parent       discovery.Resource
		unchecked    []variant.ChildRule
		want         string
	}{
		"Nothing":   {"Usually there is no warning.", v1alpha1.CompositeControllerKind, withStatus, nil, ""},
		"Status":    {"A status that can't be written is reported.", v1alpha1.CompositeControllerKind, without, nil, "NoStatusSubresource"},
		"Decorator": {"A decorator need not have one.", v1alpha1.DecoratorControllerKind, without, nil, ""},
		"Unchecked": {"So is a rolling update without status checks.", v1alpha1.CompositeControllerKind, withStatus, []variant.ChildRule{{Resource: withStatus}}, "NoStatusChecks"},
		"Both":      {"So are both.", v1alpha1.MapControllerKind, without, []variant.ChildRule{{Resource: withStatus}}, "NoStatusSubresource NoStatusChecks"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := &Plan{Kind: tc.kind, unchecked: tc.unchecked, Config: parent.Config{Parents: []variant.ParentRule{{Resource: tc.parent}}}}
			var got []string
			for _, w := range p.SpecWarnings() {
				got = append(got, w.Reason)
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
