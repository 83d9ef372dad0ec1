package scripts_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// watchThings watches Things.
func watchThings(e *env.Env) <-chan watch.Event {
	e.T.Helper()
	stream, err := e.In(e.Things()).Watch(e.T.Context(), metav1.ListOptions{})
	e.NoError(err)
	e.T.Cleanup(stream.Stop)
	return stream.ResultChan()
}

// waitForAnswer waits until the status.said of a Thing is text.
func waitForAnswer(e *env.Env, answers <-chan watch.Event, text string) {
	e.T.Helper()
	for timeout := time.After(env.Timeout); ; {
		select {
		case e := <-answers:
			if o, ok := e.Object.(*unstructured.Unstructured); ok && said(o) == text {
				return
			}
		case <-timeout:
			e.T.Fatalf("no Thing has said %q", text)
		}
	}
}

// From before an edit is sent until the answer of the new text is in the parent's status. It is not parallel: it is a
// measurement. A machine that has other things to do is slow at whatever is written, which is measured beside it: from
// edit to answer there are two writes, and little more.
func TestTimeToServe(t *testing.T) {
	const edits = 100
	e := newRunning(t)
	applyFiles(e, "hooks", "sync.js", scriptSaying("start"))
	name := define(e, "", source(e, "hooks"))
	e.ApplyThing("a", "", "")
	waitForSaid(e, "a", "start")
	waitUntilArchived(e, name)
	answers, mark := watchThings(e), e.Mark()
	var took, writes []time.Duration
	for n := range edits {
		start := time.Now()
		applyFiles(e, "hooks", "sync.js", scriptSaying(n))
		waitForAnswer(e, answers, fmt.Sprint(n))
		took = append(took, time.Since(start))
		start = time.Now()
		applyFiles(e, "nobodys", "text", fmt.Sprint(n))
		writes = append(writes, time.Since(start))
	}
	slices.Sort(took)
	slices.Sort(writes)
	t.Logf("from sending an edit to seeing its answer in the status: p50 %s, p99 %s; a write alone: p50 %s",
		took[edits/2], took[edits*99/100], writes[edits/2])
	if most := max(100*time.Millisecond, 10*writes[edits/2]); took[edits/2] > most {
		t.Errorf("half of the edits took longer than %s, want %s", took[edits/2], most)
	}
	e.NoRequests(e.Requests(mark).Reads(), "edits make libretto read")
}

// 200 edits in ten seconds end on the last, and no call ever sees two files of different edits.
func TestManyEdits(t *testing.T) {
	t.Parallel()
	const edits, every = 200, 50 * time.Millisecond
	e := newRunning(t)
	edit := func(n int) {
		files := twoFiles(n)
		applyFiles(e, "hooks", "sync.js", files["sync.js"], "lib.js", files["lib.js"])
	}
	edit(0)
	name := define(e, "", source(e, "hooks"))
	for n := range 10 {
		e.ApplyThing(fmt.Sprintf("t%d", n), "", "")
	}
	waitForSaid(e, "t9", 0)
	start, ticks := time.Now(), time.NewTicker(every)
	defer ticks.Stop()
	for n := range edits {
		edit(n + 1)
		<-ticks.C
	}
	t.Logf("%d edits in %s", edits, time.Since(start).Round(time.Millisecond))
	for n := range 10 {
		waitForSaid(e, fmt.Sprintf("t%d", n), edits)
	}
	expectNoFailures(e, name)
	waitUntilArchived(e, name)
	e.WaitForCount(env.ScriptRevisions, "", 10)
	t.Logf("%v swaps", e.Metric("libretto_script_reload_duration_seconds", nil))
}

// One edit, a thousand parents: each is called once, at the pace of --reload-spread, whether or not its answer
// changes, and one that changes meanwhile does not wait. The answers of a few change, each of which is written
// without another call, because the hook does not read the status.
func TestThousandParents(t *testing.T) {
	t.Parallel()
	const parents, changed, pace = 1000, 11, 10 * time.Millisecond
	e := newRunning(t)
	script := func(text string) string {
		return fmt.Sprintf(`export const sync = ({parent: {metadata, spec}}) => ({
  status: {said: (metadata.name.startsWith("t99") ? %q : "same") + (spec.live ?? "")},
  children: [],
});
`, text)
	}
	applyFiles(e, "hooks", "sync.js", script("one"))
	name := define(e, "", source(e, "hooks"))
	e.WaitForCondition(name, "Ready", "True")
	begin := time.Now()
	createThings(e, parents)
	calls := func() int {
		return int(e.Metric("libretto_definition_hook_duration_seconds", map[string]string{"kind": "CompositeController", "definition": name}))
	}
	cluster.Eventually(t, 3*env.Timeout, func() error {
		if got := calls(); got != parents { // Once to begin with: the hook does not read the status that was written.
			return fmt.Errorf("%d calls", got)
		}
		return nil
	})
	atOnce := time.Since(begin)
	e.WaitForQuietOf(ownRequests(e))
	before, mark := calls(), e.Mark()
	answers, start := watchThings(e), time.Now()
	applyFiles(e, "hooks", "sync.js", script("two"))
	e.Eventually(func() error {
		if calls() == before {
			return errors.New("no parent is synced")
		}
		return nil
	})
	waiting := findThing(e, "one")
	then, live := calls(), time.Now()
	e.Patch(e.Things(), waiting, `{"spec": {"live": " live"}}`)
	waitForAnswer(e, answers, "two live")
	overtook, now := time.Since(live), calls()
	rest, meanwhile := parents-(now-before), now-then
	cluster.Eventually(t, 3*env.Timeout, func() error {
		if got := calls() - before; got < parents {
			return fmt.Errorf("%d calls, want %d", got, parents)
		}
		return nil
	})
	took := time.Since(start)
	e.WaitForQuietOf(ownRequests(e))
	t.Logf("all %d parents after %s; one that changed meanwhile after %s and %d calls, with about %d still to come",
		parents, took.Round(time.Millisecond), overtook.Round(time.Millisecond), meanwhile, rest)
	if rest < parents/2 {
		t.Errorf("there were %d calls before that of the live event, after %s, and %d parents were left then: want it to overtake most",
			meanwhile, overtook, rest)
	}
	// A busy machine takes longer at what the calls and writes cost: no longer than for all of them at once.
	if least, most := 9*parents*pace/10, parents*pace+max(5*time.Second, atOnce); took < least || took > most {
		t.Errorf("the parents took %s, want about 10 s: one every 10 ms", took)
	}
	// The parent that changes may have had its turn just before: then its status is written twice.
	writes := len(e.Requests(mark).Filter(ownRequests(e)).Of(e.Group, "things").Writes())
	if writes != changed && writes != changed+1 {
		t.Errorf("%d writes of statuses, want %d", writes, changed)
	}
	if got, want := calls()-before, parents+writes-changed; got != want {
		t.Errorf("%d calls for one edit and %d statuses, want %d", got, writes, want)
	}
	e.NoRequests(e.Requests(mark).Filter(ownRequests(e)).Reads(), "an edit makes libretto read")
}

// ownRequests returns a filter for the requests of this test: other tests' processes run at the same time.
func ownRequests(e *env.Env) func(cluster.Request) bool {
	return func(r cluster.Request) bool { return r.Namespace == e.Namespace || r.Group == e.Group }
}

// createThings creates Things, eight at a time.
func createThings(e *env.Env, count int) {
	e.T.Helper()
	names := make(chan string)
	failed := make(chan error, 8)
	for range 8 {
		go func() {
			var err error
			for name := range names {
				if err == nil {
					thing := e.Parse(fmt.Sprintf("{apiVersion: %s/v1, kind: Thing, metadata: {name: %s}, spec: {}}", e.Group, name))
					_, err = e.In(e.Things()).Create(e.T.Context(), thing, metav1.CreateOptions{})
				}
			}
			failed <- err
		}()
	}
	for n := range count {
		names <- fmt.Sprintf("t%d", n)
	}
	close(names)
	for range 8 {
		e.NoError(<-failed)
	}
}

// findThing returns the name of a Thing whose status.said is still text.
func findThing(e *env.Env, text string) string {
	e.T.Helper()
	for name, thing := range e.List(e.Things(), "") {
		if said(thing) == text {
			return name
		}
	}
	e.T.Fatalf("no Thing says %q any more", text)
	return ""
}
