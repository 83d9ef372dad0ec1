package hosted

import (
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/rollout"
)

// TestMemoryOfAllParents previews an edit of all parents: nothing is left of a batch but counts. LIBRETTO_PREVIEW_PARENTS sets another number of
// parents.
func TestMemoryOfAllParents(t *testing.T) {
	parents := 600
	if text := os.Getenv("LIBRETTO_PREVIEW_PARENTS"); text != "" {
		parents, _ = strconv.Atoi(text)
	}
	s := settled(t, "InPlace", script, "", making("1", three), parents, nil)
	subject := s.subject(making("2", three))
	subject.Limits = &v1alpha1.ScriptPreview{MaxDeletedChildren: limit("10%"), MaxFailingParents: limit("0")}
	r := &run{Previewer: New("libretto", nil, nil), PreviewSubject: subject, rule: rollout.RuleOf(subject.Limits), findings: rollout.NewFindings()}
	most := int64(parents)*100 + 4<<20
	before, left := heap(), int64(0)
	began := time.Now()
	for more, first := true, true; more; first = false {
		var err error
		if more, err = r.next(t.Context(), first, time.Hour); err != nil {
			t.Fatal(err)
		}
		if r.sampler.Left()%(parents/3) < batchSize {
			left = max(left, heapBelow(before+most)-before)
		}
	}
	if p := r.result(t.Context()); p.Held != "" || p.Unknown > 0 || r.findings.Known != parents {
		t.Errorf("%+v", p)
	}
	t.Logf("%d parents of three children: %s; at most %d KiB are left of the batches", parents, time.Since(began), left>>10)
	if left > most {
		t.Errorf("%d bytes are left of the batches, want less than %d", left, most)
	}
}

// heapBelow returns what is live once that is at most so much, or after some seconds: the caches of a batch end in the background.
func heapBelow(most int64) int64 {
	poll, end := time.NewTicker(20*time.Millisecond), time.After(10*time.Second)
	defer poll.Stop()
	for {
		if live := heap(); live <= most {
			return live
		}
		select {
		case <-poll.C:
		case <-end:
			return heap()
		}
	}
}

// heap returns what is live after a collection.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
