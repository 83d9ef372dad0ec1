package parent

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/answers"
	"github.com/libretto-k8s/libretto/controllers/parent/notices"
	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/lru"
)

func TestOutdatedChildren(t *testing.T) {
	a, b := apply.Key{Name: "a"}, apply.Key{Name: "b"}
	o := newOutdatedChildren()
	for i, step := range []struct {
		reason         string
		key            string
		uid            types.UID
		aim            uint64
		children       []apply.Key
		changed, isNew bool
		total          int32
	}{
		{"none", "p", "u", 1, nil, false, false, 0},
		{"the first", "p", "u", 1, []apply.Key{a}, true, true, 1},
		{"the same again", "p", "u", 1, []apply.Key{a}, false, false, 1},
		{"one more", "p", "u", 1, []apply.Key{a, b}, true, true, 2},
		{"one was deleted", "p", "u", 1, []apply.Key{b}, true, false, 1},
		{"and differs again", "p", "u", 1, []apply.Key{a, b}, true, false, 2},
		{"an edit", "p", "u", 2, []apply.Key{a, b}, false, true, 2},
		{"another parent", "q", "v", 1, []apply.Key{a}, true, true, 3},
		{"another one of the same name", "q", "w", 1, []apply.Key{a}, false, true, 3},
		{"all are as they should be", "p", "u", 2, nil, true, false, 1},
		{"and differ anew", "p", "u", 2, []apply.Key{a}, true, true, 2},
	} {
		changed, isNew := o.set(controller.Key{Name: step.key}, step.uid, step.aim, step.children)
		if isNew {
			o.noteReported(controller.Key{Name: step.key})
		}
		if total := o.total(); changed != step.changed || isNew != step.isNew || total != step.total {
			t.Errorf("step %d: %s: changed %v, new %v, total %d", i, step.reason, changed, isNew, total)
		}
	}
	if !o.Forget(controller.Key{Name: "p"}) || o.Forget(controller.Key{Name: "p"}) || o.total() != 1 {
		t.Errorf("after the parent is forgotten there are %d, want 1", o.total())
	}
}

// TestReportOutdated checks which edits of a parent make its outdated children new: those that may change what the hooks want.
func TestReportOutdated(t *testing.T) {
	recorder, clock := record.NewFakeRecorder(10), clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	r := &shared{
		config:    Config{Changed: func() {}},
		env:       Environment{Events: Recorders{Rare: recorder}},
		inherited: inherited{problems: notices.NewProblems(clock, notices.EventLimits{})},
		memories:  memories{outdated: newOutdatedChildren(), passCache: answers.NewCache(lru.New(1), "d")},
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
