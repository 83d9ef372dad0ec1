package hosted

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

func limit(text string) *intstr.IntOrString { return new(intstr.Parse(text)) }

// TestLimits previews edits of hooks that have made three ConfigMaps of each of ten Boxes, three Boxes at a time, with limits for all of them.
func TestLimits(t *testing.T) {
	failing := func(n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprintf("b%03d", i))
		}
		return names
	}
	slow := func(next texts, names ...string) texts {
		answer := next["sync"].(hook).answer
		return next.with("sync", func(call engines.Call) (any, error) {
			name, _, _ := unstructured.NestedString(call.Request, "parent", "metadata", "name")
			if slices.Contains(names, name) {
				return nil, &engines.Error{Kind: engines.Timeout, Message: "timed out"}
			}
			return answer(call)
		})
	}
	all := scripts.Preview{Summary: "previewed on 10 of 10 parents"}
	destroys := all
	destroys.Destroys = true
	deletes := func(percentage string) string {
		return "it would delete 10 of 30 children of 10 of 10 parents, more than spec.scriptRollout.preview.maxDeletedChildren: " + percentage +
			" allows, first ConfigMap default/b000-2"
	}
	two := three[:2]
	for name, c := range map[string]struct {
		reason string
		method string
		next   texts
		limits v1alpha1.ScriptPreview
		want   scripts.Preview
	}{
		"no limit": {
			reason: "Nothing can exceed it.", next: making("1", nil, failing(10)...),
			want: scripts.Preview{Summary: "it was not previewed: spec.scriptRollout.preview has no limit"},
		},
		"another limit": {
			reason: "A limit that is left out does not count.", next: making("1", nil),
			limits: v1alpha1.ScriptPreview{MaxFailingParents: limit("0")}, want: destroys,
		},
		"deletes as many as it may": {
			reason: "A third is not more than a third.", next: making("1", two),
			limits: v1alpha1.ScriptPreview{MaxDeletedChildren: limit("34%")}, want: destroys,
		},
		"deletes more": {
			reason: "Ten are more than 33 % of 30, rounded down.", next: making("1", two),
			limits: v1alpha1.ScriptPreview{MaxDeletedChildren: limit("33%")}, want: scripts.Preview{Held: deletes("33%")},
		},
		"deletes none": {
			reason: "Zero is a limit too.", next: making("2", three), limits: v1alpha1.ScriptPreview{MaxDeletedChildren: limit("0")}, want: all,
		},
		"deletes one too many": {
			reason: "Once a number is exceeded, no more parents are previewed.", next: making("1", two),
			limits: v1alpha1.ScriptPreview{MaxDeletedChildren: limit("2")},
			want: scripts.Preview{Held: "it would delete 3 of 9 children of 3 of 3 parents (a sample of 10), " +
				"more than spec.scriptRollout.preview.maxDeletedChildren: 2 allows, first ConfigMap default/"},
		},
		"recreates": {
			reason: "Children that are recreated have a limit of their own.", method: "Recreate", next: making("2", three),
			limits: v1alpha1.ScriptPreview{MaxDeletedChildren: limit("0"), MaxRecreatedChildren: limit("99%")},
			want: scripts.Preview{Held: "it would recreate 30 of 30 children of 10 of 10 parents, " +
				"more than spec.scriptRollout.preview.maxRecreatedChildren: 99% allows, first ConfigMap default/b000-0"},
		},
		"deletes and recreates": {
			reason: "Each limit is reported with what exceeds it.", method: "Recreate", next: making("2", two),
			limits: v1alpha1.ScriptPreview{MaxDeletedChildren: limit("33%"), MaxRecreatedChildren: limit("10%")},
			want: scripts.Preview{Held: deletes("33%") + "; it would recreate 20 of 30 children of 10 of 10 parents, " +
				"more than spec.scriptRollout.preview.maxRecreatedChildren: 10% allows, first ConfigMap default/b000-0"},
		},
		"two fail": {
			reason: "Two of ten are not more than a fifth.", next: making("1", three, failing(2)...),
			limits: v1alpha1.ScriptPreview{MaxFailingParents: limit("20%")}, want: all,
		},
		"three fail": {
			reason: "Three are.", next: making("1", three, failing(3)...), limits: v1alpha1.ScriptPreview{MaxFailingParents: limit("20%")},
			want: scripts.Preview{Held: "3 of ", RepeatAfter: scripts.PreviewInterval},
		},
		"one is slow": {
			reason: "Calls for others are made all the same.", next: slow(making("1", three), "b004"),
			limits: v1alpha1.ScriptPreview{MaxFailingParents: limit("1")}, want: all,
		},
		"all are slow": {
			reason: "Those that were not called about count as failing, so that no more calls are needed.",
			next:   slow(making("1", three), failing(10)...), limits: v1alpha1.ScriptPreview{MaxFailingParents: limit("50%")},
			want: scripts.Preview{Unknown: 6, Held: "4 of 10 parents that succeed now would fail, and with them 6 that were not called about " +
				"because these take too long, more than spec.scriptRollout.preview.maxFailingParents: 50% allows, first Box default/"},
		},
		"all may fail": {
			reason: "100 % is a limit that nothing exceeds.", next: slow(making("1", three), failing(10)...),
			limits: v1alpha1.ScriptPreview{MaxFailingParents: limit("100%")},
			want:   scripts.Preview{Unknown: 6, Summary: "previewed on 4 of 10 parents; 6 could not be previewed, first Box default/"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			method := c.method
			if method == "" {
				method = "InPlace"
			}
			s := settled(t, method, script, "", making("1", three), 10, nil)
			previewer, subject := New("libretto", nil, nil), s.subject(c.next)
			previewer.batch, subject.Limits = 3, &c.limits
			got := previewer.Preview(t.Context(), subject)
			if got.Held != "" {
				got.Summary = ""
			}
			for _, text := range []struct{ got, want *string }{{&got.Held, &c.want.Held}, {&got.Summary, &c.want.Summary}} {
				if *text.want != "" && strings.HasPrefix(*text.got, *text.want) { // Which parents come first depends on their UIDs.
					*text.got = *text.want
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", c.reason, diff)
			}
		})
	}
}
