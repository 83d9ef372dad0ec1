package rollout

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	testclock "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// The edits of the tests: of the scripts, and of the spec.
var (
	first  = Edit{SpecHash: "s", Revision: strings.Repeat("1", 64)}
	second = Edit{SpecHash: "s", Revision: strings.Repeat("2", 64)}
	third  = Edit{SpecHash: "s", Revision: strings.Repeat("3", 64)}
	ofSpec = Edit{SpecHash: "t", Revision: strings.Repeat("1", 64)}
)

// guardEnv is a guard of ten ConfigMaps of five parents, where first has settled.
type guardEnv struct {
	*testing.T
	*Guard
	clock *testclock.FakeClock
	// all are how many children there were, and left how many of them there are, by kind.
	all, left map[schema.GroupKind]int
	created   time.Time
	stored    []Record
	refused   error // by the API server
	changes   int
	limits    Limits
}

var configMap, pod = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

func newGuardEnv(t *testing.T) *guardEnv {
	e := &guardEnv{T: t, clock: testclock.NewFakeClock(time.Unix(1e9, 0)),
		all:  map[schema.GroupKind]int{configMap.GroupKind(): 10, pod.GroupKind(): 2},
		left: map[schema.GroupKind]int{configMap.GroupKind(): 10},
	}
	e.restart(Record{Settled: first, Edit: first})
	return e
}

func (e *guardEnv) restart(record Record) {
	e.Guard = NewGuard(e.clock, record, func(counts CountsChild) ChildCounts {
		children := map[schema.GroupKind]int{}
		for kind, left := range e.left {
			for n := range left { // The last ones are left.
				child := apply.Key{Kind: kind.WithVersion("v1"), Name: fmt.Sprint("c", e.all[kind]-1-n)}
				if counts(child, e.created) {
					children[kind]++
				}
			}
		}
		return ChildCounts{Children: children, Parents: 5}
	}, func(_ context.Context, r Record) error {
		e.stored = append(e.stored, r)
		return e.refused
	}, func() Limits { return e.limits }, func() { e.changes++ })
}

func (e *guardEnv) setLimits(limits *v1alpha1.ScriptPreview) { e.limits.Edit = limits }

func (e *guardEnv) bound(deleted string) {
	e.limits.Always = &v1alpha1.DeletionGuard{MaxDeletedChildren: new(intstr.Parse(deleted))}
}

// remove deletes children number from to below to as an edit, as far as it may, and returns how many that were.
func (e *guardEnv) remove(edit Edit, kind schema.GroupVersionKind, from, to int) (removed int) {
	for n := from; n < to; n++ {
		loss := Deletion{
			Parent: apply.Key{Name: fmt.Sprint("p", n/2)}, Child: apply.Key{Kind: kind, Name: fmt.Sprint("c", n)}, Action: Delete,
		}
		if err := e.MayDelete(context.Background(), edit, loss); err == nil {
			removed++
		}
	}
	return removed
}

// TestGuardWalk makes edits, deletions, approvals and restarts in any order: of what there was before an edit, no more is deleted than the
// limit lets, unless the edit has settled or is approved.
func TestGuardWalk(t *testing.T) {
	edits := []Edit{first, second, third, ofSpec}
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		clock := testclock.NewFakeClock(time.Unix(1e9, 0))
		children := make([]time.Time, 2+random.IntN(20)) // When each was created, or zero.
		for n := range children {
			children[n] = clock.Now()
		}
		clock.Step(time.Hour)
		countChildren := func(counts CountsChild) ChildCounts {
			count := 0
			for n, created := range children {
				if !created.IsZero() && counts(apply.Key{Kind: configMap, Name: fmt.Sprint(n)}, created) {
					count++
				}
			}
			return ChildCounts{Children: map[schema.GroupKind]int{configMap.GroupKind(): count}, Parents: 1}
		}
		limits := Limits{}
		if seed%2 > 0 {
			half := intstr.FromString("50%")
			limits.Always = &v1alpha1.DeletionGuard{MaxDeletedChildren: &half}
		}
		store, limitsOf := func(context.Context, Record) error { return nil }, func() Limits { return limits }
		guard := NewGuard(clock, Record{Settled: first, Edit: first}, countChildren, store, limitsOf, func() {})
		serving, history := first, []string{}
		lost, counted, total := map[int]bool{}, time.Time{}, 0 // Of those that were counted, by edits that have not settled.
		for range 200 {
			clock.Step(time.Duration(random.IntN(60)) * time.Second)
			switch n := random.IntN(len(children)); random.IntN(12) {
			case 0:
				serving = edits[random.IntN(len(edits))]
				guard.SetServing(serving, random.IntN(3) > 0)
			case 1:
				guard.SetServing(serving, true)
			case 2:
				clock.Step(SettleTime)
				guard.SetServing(serving, true)
			case 3:
				guard = NewGuard(clock, guard.Record(), countChildren, store, limitsOf, func() {})
			case 4: // What serves makes again what is missing.
				for n := range children {
					if children[n].IsZero() {
						children[n] = clock.Now()
					}
				}
			case 5:
				if random.IntN(5) == 0 {
					guard.Approve(serving)
				}
			default:
				edit := serving
				if random.IntN(4) == 0 { // A pass that began before.
					edit = edits[random.IntN(len(edits))]
				}
				if children[n].IsZero() {
					continue
				}
				settled := !guard.isBounded(edit)
				err := guard.MayDelete(t.Context(), edit, Deletion{Child: apply.Key{Kind: configMap, Name: fmt.Sprint(n)}, Action: Delete})
				if history = append(history, fmt.Sprint(edit, n, settled, err)); err != nil {
					continue
				}
				if before := guard.Record().Before; before != nil && !before.At.Equal(counted) {
					counted, total = before.At, before.Children[configMap.GroupKind()]
					clear(lost)
				}
				if !settled && children[n].Before(counted) {
					lost[n] = true
				}
				children[n] = time.Time{}
			}
			if guard.Record().Before == nil {
				continue
			}
			if most := max(1, total/2); len(lost) > most {
				t.Fatalf("seed %d: %d of %d children are lost:\n%s", seed, len(lost), total, strings.Join(history, "\n"))
			}
		}
	}
}

func (e *guardEnv) removes(edit Edit, from, to, want int) {
	e.Helper()
	if got := e.remove(edit, configMap, from, to); got != want {
		e.Errorf("%d children are deleted, want %d: %s", got, want, e.Held().Message)
	}
}

// gone checks how many children count with what an edit deletes.
func (e *guardEnv) gone(edit Edit, want int) {
	e.Helper()
	gone := e.Gone(edit)
	if got := gone[destruction{configMap.GroupKind(), Delete}] + gone[destruction{configMap.GroupKind(), Recreate}]; got != want {
		e.Errorf("%d children count, want %d", got, want)
	}
}

// TestGuard lets edits delete children, and shows how far they get.
func TestGuard(t *testing.T) {
	percent := func(text string) *v1alpha1.ScriptPreview {
		return &v1alpha1.ScriptPreview{MaxDeletedChildren: new(intstr.Parse(text))}
	}
	for name, run := range map[string]func(e *guardEnv){
		"what has settled deletes all": func(e *guardEnv) {
			e.removes(first, 0, 10, 10)
			if len(e.stored) > 0 {
				e.Errorf("a record was written: %v", e.stored)
			}
		},
		"an edit is held at more than half": func(e *guardEnv) {
			e.removes(second, 0, 10, 5)
			hold := e.Held()
			want := "it would delete 6 of 10 children of 3 of 5 parents, first ConfigMap c0; 5 are gone, and no more are deleted"
			if hold != (Hold{ID: second.Revision, Edit: second, Settled: first, Message: want}) || e.changes != 1 {
				e.Errorf("%+v, reported %d times", hold, e.changes)
			}
			e.removes(first, 5, 10, 5) // What served before goes on.
		},
		"children that were created in this very second": func(e *guardEnv) {
			e.created = e.clock.Now()
			e.removes(second, 0, 10, 5)
		},
		"one child is deleted twice": func(e *guardEnv) {
			e.removes(second, 0, 5, 5)
			e.removes(second, 0, 5, 5)
			e.removes(second, 4, 10, 1)
		},
		"what is refused again and again is not gone": func(e *guardEnv) {
			e.removes(second, 0, 6, 5)
			want := "it would delete 6 of 10 children of 3 of 5 parents, first ConfigMap c0; 5 are gone, and no more are deleted"
			for n := range 4 { // An edit of the edit each time, as with steps, where passes of several revisions ask.
				edit := Edit{SpecHash: "s", Revision: fmt.Sprint(n)}
				e.SetServing(edit, false)
				e.removes(edit, 5, 6, 0)
				if why := e.Held().Message; why != want {
					e.Errorf("after %d more edits: %s", n+1, why)
				}
			}
		},
		"half of one kind": func(e *guardEnv) {
			e.left[pod.GroupKind()] = 2
			if got := e.remove(second, pod, 0, 2); got != 1 {
				e.Errorf("%d of 2 Pods are deleted, want 1", got)
			}
			if why := e.Held().Message; !strings.Contains(why, "2 of 2 children of kind Pod") {
				e.Error(why)
			}
		},
		"children that others delete are not the edit's to the next process": func(e *guardEnv) {
			e.removes(second, 0, 2, 2)
			e.left[configMap.GroupKind()] = 3 // Five have gone with their parents.
			e.clock.Step(countInterval)
			record := e.Record()
			if got := record.Before.Children[configMap.GroupKind()]; got != 5 {
				e.Errorf("%d children are left of those that there were before or were deleted, want 5", got)
			}
			if e.stored[0].Before.Children[configMap.GroupKind()] != 10 {
				e.Error("the record that was stored has changed")
			}
			e.restart(record)
			e.removes(second, 7, 10, 0) // Three of five would be more than half.
			if why := e.Held().Message; !strings.HasPrefix(why, "it would delete 3 of 5 children") {
				e.Error(why)
			}
		},
		"what an earlier edit recreates is not deleted": func(e *guardEnv) {
			e.setLimits(&v1alpha1.ScriptPreview{MaxDeletedChildren: new(intstr.Parse("50%")), MaxRecreatedChildren: new(intstr.Parse("100%"))})
			for n := range 8 {
				loss := Deletion{Child: apply.Key{Kind: configMap, Name: fmt.Sprint("c", n)}, Action: Recreate}
				if err := e.MayDelete(e.Context(), second, loss); err != nil {
					e.Error(err)
				}
			}
			for _, process := range []string{"the same", "the next"} {
				f := NewFindings()
				f.children[anyKind], f.children[configMap.GroupKind()] = 10, 10
				f.Known, f.Total = 5, 5
				f.addGone(destruction{configMap.GroupKind(), Recreate}, 10) // The next edit recreates all again.
				f.AddGone(e.Gone(third))
				if why := f.Held(GuardRule(e.limits.Edit, 1)); why != "" {
					e.Errorf("in %s process: %s", process, why)
				}
				e.clock.Step(countInterval)
				e.restart(e.Record())
			}
		},
		"children that come while an edit serves": func(e *guardEnv) {
			e.setLimits(&v1alpha1.ScriptPreview{MaxRecreatedChildren: new(intstr.Parse("100%"))})
			for n := range 15 { // Five of a parent that was added.
				loss := Deletion{Child: apply.Key{Kind: configMap, Name: fmt.Sprint("c", n)}, Action: Recreate}
				if n >= 10 {
					loss.ChildCreated = e.clock.Now().Add(time.Second)
				}
				if err := e.MayDelete(e.Context(), second, loss); err != nil {
					e.Error(err)
				}
			}
			e.setLimits(nil)
			loss := Deletion{Child: apply.Key{Kind: configMap, Name: "late"}, ChildCreated: e.clock.Now().Add(time.Second), Action: Delete}
			if err := e.MayDelete(e.Context(), second, loss); err == nil {
				e.Error("16 of 16 are gone")
			}
		},
		"the limits of the definition": func(e *guardEnv) {
			e.setLimits(percent("20%"))
			e.removes(second, 0, 10, 2)
		},
		"no child at all": func(e *guardEnv) {
			e.setLimits(percent("0"))
			e.removes(second, 0, 10, 0)
		},
		"limits that say nothing of children": func(e *guardEnv) {
			e.setLimits(&v1alpha1.ScriptPreview{})
			e.removes(second, 0, 10, 5)
		},
		"two edits in a row add up": func(e *guardEnv) {
			e.removes(second, 0, 4, 4)
			e.SetServing(third, true)
			e.left[configMap.GroupKind()] = 6
			e.removes(third, 4, 10, 1)
		},
		"once settled it counts no more": func(e *guardEnv) {
			e.SetServing(second, true)
			e.removes(second, 0, 4, 4)
			e.clock.Step(SettleTime)
			e.SetServing(second, true)
			e.removes(second, 4, 10, 6)
			if r := e.Record(); r.Settled != second || r.Before != nil {
				e.Errorf("the record is %+v", r)
			}
		},
		"a step does not settle": func(e *guardEnv) {
			e.SetServing(second, false)
			e.clock.Step(2 * SettleTime)
			e.SetServing(second, false)
			e.removes(second, 0, 10, 5)
		},
		"what is held does not settle": func(e *guardEnv) {
			e.SetServing(second, true)
			e.removes(second, 0, 10, 5)
			e.clock.Step(2 * SettleTime)
			e.SetServing(second, true)
			e.removes(second, 5, 10, 0)
		},
		"approved": func(e *guardEnv) {
			e.removes(second, 0, 10, 5)
			e.Approve(second)
			e.removes(second, 5, 10, 5)
			if why := e.Held().Message; why != "" {
				e.Error(why)
			}
		},
		"approved before something else was edited": func(e *guardEnv) {
			e.Approve(second)
			e.removes(second, 0, 3, 3)
			e.SetServing(second, true)
			e.SetServing(third, true)
			e.removes(second, 3, 10, 5)
		},
		"another one is approved": func(e *guardEnv) {
			e.Approve(third)
			e.removes(second, 0, 10, 5)
		},
		"an edit of the spec": func(e *guardEnv) { e.removes(ofSpec, 0, 10, 5) },
		"back to what served before, by a pin": func(e *guardEnv) {
			e.clock.Step(SettleTime)
			e.SetServing(second, true)
			e.clock.Step(SettleTime)
			e.SetServing(second, true)
			e.removes(first, 0, 10, 5)
		},
		"back to what served before, at once": func(e *guardEnv) {
			e.SetServing(second, true)
			e.Replace(second, first)
			e.removes(first, 0, 10, 5)
			if hold := e.Held(); hold.Edit != first || hold.Settled != second {
				e.Errorf("%+v", hold)
			}
		},
		"a restart forgets nothing": func(e *guardEnv) {
			e.removes(second, 0, 4, 4)
			e.left[configMap.GroupKind()] = 6
			e.restart(e.Record())
			e.removes(second, 4, 10, 1)
		},
		"a restart while it is held": func(e *guardEnv) {
			e.removes(second, 0, 10, 5)
			e.left[configMap.GroupKind()] = 5
			e.restart(e.Record())
			e.removes(second, 5, 10, 0)
			e.removes(first, 5, 10, 5)
		},
		"what can't be recorded is not deleted": func(e *guardEnv) {
			e.refused = errors.New("no answer")
			e.removes(second, 0, 10, 0)
			e.refused = nil
			e.removes(second, 0, 10, 5)
		},
		"the first edit over no children": func(e *guardEnv) {
			e.left = nil
			e.restart(Record{})
			e.SetInitial(first)
			e.left = map[schema.GroupKind]int{configMap.GroupKind(): 10}
			e.removes(first, 0, 10, 10)
		},
		"the first edit over children": func(e *guardEnv) {
			e.restart(Record{})
			e.SetInitial(first)
			e.removes(first, 0, 10, 5)
		},
		"what counts with the next edit": func(e *guardEnv) {
			e.gone(second, 0)
			e.removes(second, 0, 3, 3)
			e.gone(third, 3)
			e.gone(second, 3)
			e.gone(first, 0) // It is taken back.
			e.left[configMap.GroupKind()] = 7
			e.restart(e.Record())
			e.gone(third, 3)
			e.Approve(second) // An approval counts until something else is edited.
			e.gone(second, 0)
			e.gone(third, 0)
		},
		"what counts with the next edit once one has settled, and nobody has looked since": func(e *guardEnv) {
			e.SetServing(second, false)
			e.removes(second, 0, 5, 5)
			e.clock.Step(SettleTime)
			e.gone(third, 5) // It goes in steps.
			e.SetServing(second, true)
			e.SetServing(third, true)
			e.left[configMap.GroupKind()] = 5
			e.clock.Step(SettleTime)
			e.gone(second, 0)
			e.removes(second, 5, 10, 2)
			if hold := e.Held(); hold.Settled != third {
				e.Errorf("%+v", hold)
			}
		},
		"a limit without an edit": func(e *guardEnv) {
			e.bound("30%")
			e.removes(first, 0, 10, 3)
			want := "it would delete 4 of 10 children of 2 of 5 parents, more than spec.deletionGuard.maxDeletedChildren: 30% allows, " +
				"first ConfigMap c0; 3 are gone, and no more are deleted"
			if hold := e.Held(); hold.Message != want || hold.IsOfEdit() || hold.ID == first.Revision || e.changes != 1 {
				e.Errorf("%+v, reported %d times", hold, e.changes)
			}
		},
		"a limit without an edit is one within a time": func(e *guardEnv) {
			e.bound("30%")
			e.removes(first, 0, 3, 3)
			e.clock.Step(SettleTime)
			e.left[configMap.GroupKind()] = 7
			e.removes(first, 3, 10, 2)
		},
		"a restart within that time": func(e *guardEnv) {
			e.bound("30%")
			e.removes(first, 0, 2, 2)
			e.left[configMap.GroupKind()] = 8
			e.restart(e.Record())
			e.removes(first, 2, 10, 1)
		},
		"a restart after that time": func(e *guardEnv) {
			e.bound("30%")
			e.removes(first, 0, 3, 3)
			e.left[configMap.GroupKind()] = 7
			e.restart(e.Record())
			e.clock.Step(SettleTime)
			e.removes(first, 3, 10, 2)
		},
		"without an edit, until nobody asks for it": func(e *guardEnv) {
			e.bound("0")
			e.removes(first, 0, 4, 0)
			e.NoteSynced(apply.Key{Name: "p0"})
			e.NoteSynced(apply.Key{Name: "p3"})
			if e.Held().Message == "" {
				e.Error("it is held no more while a parent asks for it")
			}
			if e.NoteSynced(apply.Key{Name: "p1"}); e.Held().Message != "" || e.changes != 2 {
				e.Errorf("reported %d times, and held: %s", e.changes, e.Held().Message)
			}
			e.removes(first, 0, 1, 0)
		},
		"without an edit, again within that time": func(e *guardEnv) {
			e.bound("2")
			e.removes(first, 0, 3, 2)
			e.left[configMap.GroupKind()] = 8 // The two are back, but younger.
			e.NoteSynced(apply.Key{Name: "p1"})
			e.removes(first, 0, 3, 0)
			if why := e.Held().Message; !strings.Contains(why, "delete 3 of 10 children") || !strings.Contains(why, "; 2 are gone") {
				e.Error(why)
			}
		},
		"approved without an edit": func(e *guardEnv) {
			e.bound("0")
			e.Approve(first) // Nothing is held: what serves may have been approved once.
			e.removes(first, 0, 10, 0)
			e.Approve(first)
			e.removes(first, 0, 10, 10)
			e.clock.Step(SettleTime)
			e.removes(first, 0, 10, 0)
		},
		"an edit takes the place of what was held without one": func(e *guardEnv) {
			e.bound("0")
			e.removes(first, 0, 1, 0)
			e.SetServing(second, true)
			e.removes(second, 0, 10, 5)
		},
		"what is taken back has no limit without an edit": func(e *guardEnv) {
			e.bound("0")
			e.removes(second, 0, 10, 5)
			e.removes(first, 5, 10, 5)
		},
	} {
		t.Run(name, func(t *testing.T) { run(newGuardEnv(t)) })
	}
}

// TestEditID shows what approves an edit.
func TestEditID(t *testing.T) {
	if id := second.ID(first); id != second.Revision {
		t.Errorf("an edit of the scripts is approved as %s", id)
	}
	id := ofSpec.ID(first)
	if len(id) != 64 || id == first.Revision || id == (Edit{SpecHash: "u", Revision: first.Revision}).ID(first) {
		t.Errorf("an edit of the spec is approved as %s", id)
	}
}

// TestShares divides limits so that all shards together do not exceed them.
func TestShares(t *testing.T) {
	for _, c := range []struct {
		limit   string
		shards  int
		deletes int // of 10 children
		want    string
	}{
		{"4", 0, 4, ""},
		{"4", 2, 2, ""},
		{"4", 2, 3, "it would delete 3 of 10 children of 0 of 0 parents, more than f.maxDeletedChildren: 4 allows, of which a shard has 2, first  "},
		{"3", 4, 1, "it would delete 1 of 10 children of 0 of 0 parents, more than f.maxDeletedChildren: 3 allows, of which a shard has 0, first  "},
		{"50%", 4, 5, ""},
		{"50%", 4, 6, "it would delete 6 of 10 children of 0 of 0 parents, more than f.maxDeletedChildren: 50% allows, first  "},
	} {
		f := NewFindings()
		f.children[anyKind] = 10
		f.addGone(destruction{configMap.GroupKind(), Delete}, c.deletes)
		got := f.Held(limitRule{&v1alpha1.ScriptPreview{MaxDeletedChildren: new(intstr.Parse(c.limit))}, "f", c.shards})
		if got != c.want {
			t.Errorf("%d of %s, in %d shards: %q, want %q", c.deletes, c.limit, c.shards, got, c.want)
		}
	}
}
