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

// answers watches what Things say.
func (h *host) answers() <-chan watch.Event {
	h.T.Helper()
	stream, err := h.In(h.things).Watch(h.T.Context(), metav1.ListOptions{})
	if err != nil {
		h.T.Fatal(err)
	}
	h.T.Cleanup(stream.Stop)
	return stream.ResultChan()
}

// hears waits until some Thing says text.
func (h *host) hears(answers <-chan watch.Event, text string) {
	h.T.Helper()
	for timeout := time.After(env.Timeout); ; {
		select {
		case e := <-answers:
			if o, ok := e.Object.(*unstructured.Unstructured); ok && said(o) == text {
				return
			}
		case <-timeout:
			h.T.Fatalf("nobody has said %q", text)
		}
	}
}

// From before an edit is sent until the answer of the new text is in the parent's status. It is not parallel: it is a
// measurement. A machine that has other things to do is slow at whatever is written, which is measured beside it: from
// edit to answer there are two writes, and little more.
func TestTimeToServe(t *testing.T) {
	const edits = 100
	h := newHost(t).begin()
	h.configMap("hooks", "sync.js", saying("start"))
	name := h.define("", h.from("hooks"))
	h.thing("a")
	h.says("a", "start")
	h.keeps(name)
	answers, mark := h.answers(), h.Mark()
	var took, writes []time.Duration
	for n := range edits {
		start := time.Now()
		h.configMap("hooks", "sync.js", saying(n))
		h.hears(answers, fmt.Sprint(n))
		took = append(took, time.Since(start))
		start = time.Now()
		h.configMap("nobodys", "text", fmt.Sprint(n))
		writes = append(writes, time.Since(start))
	}
	slices.Sort(took)
	slices.Sort(writes)
	t.Logf("from sending an edit to seeing its answer in the status: p50 %s, p99 %s; a write alone: p50 %s",
		took[edits/2], took[edits*99/100], writes[edits/2])
	if most := max(100*time.Millisecond, 10*writes[edits/2]); took[edits/2] > most {
		t.Errorf("half of the edits took longer than %s, want %s", took[edits/2], most)
	}
	if reads := h.Requests(mark).Reads(); len(reads) > 0 {
		t.Errorf("edits make libretto read:\n%s", reads)
	}
}

// 200 edits in ten seconds end on the last, and no call ever sees two files of different edits.
func TestManyEdits(t *testing.T) {
	t.Parallel()
	const edits, every = 200, 50 * time.Millisecond
	h := newHost(t).begin()
	edit := func(n int) {
		files := agreeing(n)
		h.configMap("hooks", "sync.js", files["sync.js"], "lib.js", files["lib.js"])
	}
	edit(0)
	name := h.define("", h.from("hooks"))
	for n := range 10 {
		h.thing(fmt.Sprintf("t%d", n))
	}
	h.says("t9", 0)
	start, ticks := time.Now(), time.NewTicker(every)
	defer ticks.Stop()
	for n := range edits {
		edit(n + 1)
		<-ticks.C
	}
	t.Logf("%d edits in %s", edits, time.Since(start).Round(time.Millisecond))
	for n := range 10 {
		h.says(fmt.Sprintf("t%d", n), edits)
	}
	h.neverHalf(name)
	h.keeps(name)
	cluster.Eventually(t, env.Timeout, func() error {
		if got := len(h.List(kept, "")); got != 10 {
			return fmt.Errorf("%d revisions are kept, want 10", got)
		}
		return nil
	})
	t.Logf("%v swaps", h.metric("libretto_script_reload_duration_seconds", nil))
}

// One edit, a thousand parents: each is called once, at the pace of --reload-spread, whether or not its answer
// changes, and one that changes meanwhile does not wait. The answers of a few change, each of which is written
// and, being news of the parent, calls the hook once more.
func TestThousandParents(t *testing.T) {
	t.Parallel()
	const parents, changed, pace = 1000, 11, 10 * time.Millisecond
	h := newHost(t).begin()
	script := func(text string) string {
		return fmt.Sprintf(`export const sync = ({parent: {metadata, spec}}) => ({
  status: {said: (metadata.name.startsWith("t99") ? %q : "same") + (spec.live ?? "")},
  children: [],
});
`, text)
	}
	h.configMap("hooks", "sync.js", script("one"))
	name := h.define("", h.from("hooks"))
	h.WaitForCondition(name, "Ready", "True")
	begin := time.Now()
	h.makeThings(parents)
	calls := func() int {
		return int(h.metric("libretto_hook_duration_seconds", map[string]string{"definition": "CompositeController " + name}))
	}
	cluster.Eventually(t, 3*env.Timeout, func() error {
		if got := calls(); got != 2*parents { // Once to begin with, and once for the status that was written.
			return fmt.Errorf("%d calls", got)
		}
		return nil
	})
	atOnce := time.Since(begin)
	h.WaitForQuietOf(h.mine)
	before, mark := calls(), h.Mark()
	answers, start := h.answers(), time.Now()
	h.configMap("hooks", "sync.js", script("two"))
	cluster.Eventually(t, env.Timeout, func() error {
		if calls() == before {
			return errors.New("no parent is synced")
		}
		return nil
	})
	waiting := h.untouched("one")
	then, live := calls(), time.Now()
	h.Patch(h.things, waiting, `{"spec": {"live": " live"}}`)
	h.hears(answers, "two live")
	overtook, now := time.Since(live), calls()
	rest, meanwhile := parents-(now-before), now-then
	const want = parents + changed
	cluster.Eventually(t, 3*env.Timeout, func() error {
		if got := calls() - before; got < want {
			return fmt.Errorf("%d calls, want %d", got, want)
		}
		return nil
	})
	took := time.Since(start)
	h.WaitForQuietOf(h.mine)
	t.Logf("all %d parents after %s; one that changed meanwhile after %s and %d calls, with about %d still to come",
		parents, took.Round(time.Millisecond), overtook.Round(time.Millisecond), meanwhile, rest)
	// Calls tell how long it waited also where the whole machine stands still for a while: at the pace, these take a second.
	if rest < parents/2 || meanwhile > int(time.Second/pace) {
		t.Errorf("there were %d calls before that of the live event, after %s, and %d parents were left then: want it to overtake most", meanwhile, overtook, rest)
	}
	// A busy machine takes longer at what the calls and writes cost: no longer than for all of them at once.
	if least, most := 9*parents*pace/10, parents*pace+max(5*time.Second, atOnce); took < least || took > most {
		t.Errorf("the parents took %s, want about 10 s: one every 10 ms", took)
	}
	// The parent that changes may have had its turn just before: then its status is written twice.
	writes := len(h.Requests(mark).Filter(h.mine).Of(h.Group, "things").Writes())
	if writes != changed && writes != changed+1 {
		t.Errorf("%d writes of statuses, want %d", writes, changed)
	}
	// The first of these and the change are news of it together, or one after the other.
	if got, more := calls()-before, writes-changed; got < parents+writes || got > parents+writes+more {
		t.Errorf("%d calls for one edit and %d statuses, want %d", got, writes, parents+writes)
	}
	if reads := h.Requests(mark).Filter(h.mine).Reads(); len(reads) > 0 {
		t.Errorf("an edit makes libretto read:\n%s", reads)
	}
}

// mine says whether a request is for what is this test's: other tests' processes are at work at the same time.
func (h *host) mine(r cluster.Request) bool { return r.Namespace == h.Namespace || r.Group == h.Group }

// makeThings makes Things, eight at a time.
func (h *host) makeThings(count int) {
	h.T.Helper()
	names := make(chan string)
	failed := make(chan error, 8)
	for range 8 {
		go func() {
			var err error
			for name := range names {
				if err == nil {
					thing := h.Parse(fmt.Sprintf("{apiVersion: %s/v1, kind: Thing, metadata: {name: %s}, spec: {}}", h.Group, name))
					_, err = h.In(h.things).Create(h.T.Context(), thing, metav1.CreateOptions{})
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
		if err := <-failed; err != nil {
			h.T.Fatal(err)
		}
	}
}

// untouched is a Thing that still says text.
func (h *host) untouched(text string) string {
	h.T.Helper()
	for name, thing := range h.List(h.things, "") {
		if said(thing) == text {
			return name
		}
	}
	h.T.Fatalf("no Thing says %q any more", text)
	return ""
}
