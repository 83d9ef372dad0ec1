package hosted

import (
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// TestMemoryOfAllParents previews an edit of all parents, which takes no more memory for many of them than for a batch.
// LIBRETTO_PREVIEW_PARENTS sets another number of parents.
func TestMemoryOfAllParents(t *testing.T) {
	parents := 600
	if text := os.Getenv("LIBRETTO_PREVIEW_PARENTS"); text != "" {
		parents, _ = strconv.Atoi(text)
	}
	s := settled(t, "InPlace", script, "", making("1", three), parents, nil)
	previewer, subject := New("libretto", nil), s.subject(making("2", three))
	subject.Limits = &v1alpha1.ScriptPreview{MaxDeletedChildren: limit("10%"), MaxFailingParents: limit("0")}
	before := heap()
	var most atomic.Int64
	done, watched := make(chan bool), make(chan bool)
	go func() {
		defer close(watched)
		for {
			select {
			case <-done:
				return
			case <-time.After(200 * time.Millisecond):
				most.Store(max(most.Load(), heap()))
			}
		}
	}()
	began := time.Now()
	p := previewer.Preview(t.Context(), subject)
	took := time.Since(began)
	close(done)
	<-watched
	if p.Held != "" || p.Unknown > 0 {
		t.Errorf("%+v", p)
	}
	more := (most.Load() - before) >> 20
	t.Logf("%d parents of three children: %s, %d MiB more", parents, took, more)
	if more > 64 {
		t.Errorf("a preview takes %d MiB, want that of a batch", more)
	}
}

// heap returns what is live after a collection.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
