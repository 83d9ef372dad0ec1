package parent

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/answers"
	"github.com/libretto-k8s/libretto/controllers/parent/notices"
	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/values/lru"
)

// TestReportUnownedOutputs checks that many outputs that lost their marks at once have one event, without those that block a creation.
func TestReportUnownedOutputs(t *testing.T) {
	wanted := parenttest.Object("wanted")
	for name, tc := range map[string]struct {
		unowned []string
		want    string
	}{
		"none":         {nil, ""},
		"a wanted one": {[]string{"wanted"}, ""},
		"one":          {[]string{"wanted", "a"}, "a is an output of the parent, but"},
		"many":         {[]string{"a", "wanted", "b", "c"}, "a is an output of the parent (as are 2 more), but"},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := record.NewFakeRecorder(10)
			p := &pass{parent: parenttest.ParentOf("1", 0), shared: &shared{
				env:       Environment{Events: Recorders{Rare: recorder}},
				inherited: inherited{problems: notices.NewProblems(clocktesting.NewFakePassiveClock(time.Unix(0, 0)), notices.EventLimits{})},
			}}
			for _, name := range tc.unowned {
				p.unownedOutputs = append(p.unownedOutputs, apply.KeyOf(parenttest.Object(name)))
			}
			p.reportUnownedOutputs(variant.Desired{Children: []*unstructured.Unstructured{wanted}})
			close(recorder.Events)
			if got := <-recorder.Events; !strings.Contains(got, tc.want) || got != "" && tc.want == "" || <-recorder.Events != "" {
				t.Errorf("event %q, want one with %q", got, tc.want)
			}
		})
	}
}

// TestReportOutdated checks which edits of a parent make its outdated children new: those that may change what the hooks want.
func TestReportOutdated(t *testing.T) {
	recorder, clock := record.NewFakeRecorder(10), clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	r := &shared{
		config:    Config{Changed: func() {}},
		env:       Environment{Events: Recorders{Rare: recorder}},
		inherited: inherited{problems: notices.NewProblems(clock, notices.EventLimits{})},
		memories:  memories{outdated: notices.NewOutdatedChildren(), passCache: answers.NewCache(lru.New(1), "d")},
	}
	secret := parenttest.Object("s", parenttest.WithUID("s-uid"))
	secret.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Secret"})
	wanted := secret.DeepCopy()
	wanted.Object["data"] = map[string]any{"of-a-customer": "eA=="}
	held := []apply.Change{{Action: apply.ActionUpdate, Key: apply.KeyOf(secret), Observed: secret, Object: wanted}}
	sync := func(generation int64, spec, status string) {
		parent := parenttest.ParentOf("1", 0)
		parent.SetGeneration(generation)
		parent.Object["spec"], parent.Object["status"] = spec, status
		p := &pass{shared: r, parent: parent, programs: Programs{Revision: "1"}}
		p.observed.Parent = parent
		p.reportOutdated(held)
	}
	for _, step := range []struct {
		reason       string
		generation   int64
		spec, status string
		events       int
	}{
		{"The first time.", 1, "a", "x", 1},
		{"A kind without status subresource has a new generation with each status.", 2, "a", "y", 0},
		{"An edit of the spec.", 3, "b", "y", 1},
	} {
		sync(step.generation, step.spec, step.status)
		if len(recorder.Events) != step.events {
			t.Errorf("%s %d events, want %d", step.reason, len(recorder.Events), step.events)
		}
		for len(recorder.Events) > 0 {
			if text := <-recorder.Events; strings.Contains(text, "of-a-customer") {
				t.Errorf("the event has a key of a Secret: %s", text)
			}
		}
	}
	for r.problems.Accept(r.problems.Warnings) == notices.EventsEmitted {
	}
	if sync(4, "c", "y"); len(recorder.Events) > 0 {
		t.Errorf("an event beyond the limit")
	}
	clock.SetTime(clock.Now().Add(time.Second))
	if sync(4, "c", "y"); len(recorder.Events) != 1 {
		t.Errorf("the event that was dropped does not come when there is room")
	}
}
