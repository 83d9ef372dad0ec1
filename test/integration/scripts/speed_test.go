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
	"github.com/libretto-k8s/libretto/test/world"
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
	for timeout := time.After(world.Soon); ; {
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

// From before an edit is sent until the answer of the new text is in the parent's status. It is not parallel: it is a measurement.
func TestTimeToServe(t *testing.T) {
	const edits = 100
	h := newHost(t).begin()
	h.configMap("hooks", "sync.js", saying("start"))
	name := h.define("", h.from("hooks"))
	h.thing("a")
	h.says("a", "start")
	h.keeps(name)
	answers, mark := h.answers(), h.Mark()
	var took []time.Duration
	for n := range edits {
		start := time.Now()
		h.configMap("hooks", "sync.js", saying(n))
		h.hears(answers, fmt.Sprint(n))
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	t.Logf("from sending an edit to seeing its answer in the status: p50 %s, p99 %s", took[edits/2], took[edits*99/100])
	if took[edits/2] > 100*time.Millisecond {
		t.Errorf("half of the edits took longer than %s, want 100ms", took[edits/2])
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
	cluster.Eventually(t, world.Soon, func() error {
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
	const parents, changed = 1000, 11
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
	h.MustCondition(name, "Ready", "True")
	h.makeThings(parents)
	calls := func() int {
		return int(h.metric("libretto_hook_duration_seconds", map[string]string{"definition": "CompositeController " + name}))
	}
	cluster.Eventually(t, 2*world.Soon, func() error {
		if got := calls(); got != 2*parents { // Once to begin with, and once for the status that was written.
			return fmt.Errorf("%d calls", got)
		}
		return nil
	})
	h.Settled()
	before, mark := calls(), h.Mark()
	answers, start := h.answers(), time.Now()
	h.configMap("hooks", "sync.js", script("two"))
	cluster.Eventually(t, world.Soon, func() error {
		if calls() == before {
			return errors.New("no parent is synced")
		}
		return nil
	})
	waiting, live := h.untouched("one"), time.Now()
	h.Patch(h.things, waiting, `{"spec": {"live": " live"}}`)
	h.hears(answers, "two live")
	overtook, rest := time.Since(live), parents-(calls()-before)
	const want = parents + changed
	cluster.Eventually(t, world.Soon, func() error {
		if got := calls() - before; got < want {
			return fmt.Errorf("%d calls, want %d", got, want)
		}
		return nil
	})
	took := time.Since(start)
	h.Settled()
	t.Logf("all %d parents after %s; one that changed meanwhile after %s, with about %d still to come",
		parents, took.Round(time.Millisecond), overtook.Round(time.Millisecond), rest)
	if rest < parents/2 || overtook > time.Second {
		t.Errorf("the live event took %s and %d parents were left then, want it to overtake most", overtook, rest)
	}
	if took < 9*time.Second || took > 15*time.Second {
		t.Errorf("the parents took %s, want about 10 s: one every 10 ms", took)
	}
	// The parent that changes may have had its turn just before: then its status is written twice.
	writes := len(h.Requests(mark).Of(h.Group, "things").Writes())
	if writes != changed && writes != changed+1 {
		t.Errorf("%d writes of statuses, want %d", writes, changed)
	}
	if got := calls() - before; got != parents+writes {
		t.Errorf("%d calls for one edit and %d statuses, want %d", got, writes, parents+writes)
	}
	// Other tests' processes are at work at the same time.
	mine := func(r cluster.Request) bool { return r.Namespace == h.Namespace || r.Group == h.Group }
	if reads := h.Requests(mark).Reads().Filter(mine); len(reads) > 0 {
		t.Errorf("an edit makes libretto read:\n%s", reads)
	}
}

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
