package serve

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/libretto-k8s/libretto/engines/sandbox"
	"github.com/libretto-k8s/libretto/engines/sandbox/worker"
)

const (
	// gcPercent is the garbage collector's target. docs/design/runtime/memory.md has what others cost.
	gcPercent = 50
	// workerMemory is what a script worker takes as a rule. What its scripts may take beyond that is not reserved.
	workerMemory = 48 << 20
)

// memorySettings are how much memory the garbage collector lets this process take.
type memorySettings struct {
	GCPercent int
	// Limit is in bytes, or zero if there is none.
	Limit int64
}

// memorySettingsFor returns the settings in a container with that limit, or without one, in which script workers may run. The
// environment has precedence, as in any program in Go. It sets zero for what the runtime has read there already.
func memorySettingsFor(getenv func(string) string, container uint64, workers int) memorySettings {
	m := memorySettings{GCPercent: gcPercent}
	if getenv("GOGC") != "" {
		m.GCPercent = 0
	}
	if getenv("GOMEMLIMIT") == "" && container > 0 {
		m.Limit = hostMemoryLimit(container, workers)
	}
	return m
}

// hostMemoryLimit returns what this process may take of a container's memory: what workers take as a rule, and a tenth for what the Go
// runtime does not count, is left to others. It is at least half, because a limit below what is in use only makes the collector run all
// the time.
func hostMemoryLimit(container uint64, workers int) int64 {
	limit := int64(min(container, 1<<62))
	return max(limit/10*9-int64(workers)*workerMemory, limit/2)
}

// apply sets what is not zero, and returns what is logged of it.
func (m memorySettings) apply(getenv func(string) string, container uint64) []any {
	gc, limit := getenv("GOGC"), getenv("GOMEMLIMIT")
	if m.GCPercent > 0 {
		debug.SetGCPercent(m.GCPercent)
		gc = strconv.Itoa(m.GCPercent)
	}
	switch {
	case m.Limit > 0:
		debug.SetMemoryLimit(m.Limit)
		limit = strconv.FormatInt(m.Limit>>20, 10) + "MiB"
	case limit == "":
		limit = "off"
	}
	fields := []any{"GOGC", gc, "GOMEMLIMIT", limit}
	if container > 0 {
		fields = append(fields, "containerLimit", strconv.FormatUint(container>>20, 10)+"MiB")
	}
	return fields
}

// limitMemory sets how much memory the garbage collector lets this process take, and returns what is logged of it.
func limitMemory(getenv func(string) string, i isolation) []any {
	container, err := memlimit.FromCgroup()
	if err != nil {
		container = 0 // There is no container, or it has no limit.
	}
	workers := 0
	if i.kind == isolationProcess {
		workers = sandbox.MaxProcesses(i.workers)
	}
	return memorySettingsFor(getenv, container, workers).apply(getenv, container)
}

const (
	// quietInterval is how often it is looked whether memory can be returned.
	quietInterval = 5 * time.Second
	// quietBytes is what a process that has nothing to do allocates at most within that time. busyBytes is what it has to allocate, and
	// twice its heap, before memory is returned once more: collections that are made for it are few beside the others.
	quietBytes, busyBytes = 4 << 20, 32 << 20
)

// returnMemory returns memory to the system until ctx ends: all that is free each time that the process becomes quiet, and the pages of
// the program that are not needed any more while it is busy.
func returnMemory(ctx context.Context) {
	pages := worker.FindProgramPages()
	ticker := time.NewTicker(quietInterval)
	defer ticker.Stop()
	for q := (quietness{}); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		busy, begins := q.next(heapUse())
		if begins {
			debug.FreeOSMemory()
		}
		if busy || begins {
			pages.Release()
		}
	}
}

// quietness detects when a process becomes quiet.
type quietness struct{ last, released uint64 }

// next reports whether a process, which has allocated so many bytes since its start, was busy since the last call, and if not, whether
// memory is to be returned.
func (q *quietness) next(allocated, heap uint64) (busy, begins bool) {
	recent := allocated - q.last
	if q.last = allocated; recent > quietBytes {
		return true, false
	}
	if q.released > 0 && allocated-q.released < max(busyBytes, 2*heap) { // The first time is after the start.
		return false, false
	}
	q.released = allocated
	return false, true
}

// heapUse returns the bytes allocated since the start, and those of the heap.
func heapUse() (allocated, heap uint64) {
	samples := [2]metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(samples[:])
	return samples[0].Value.Uint64(), samples[1].Value.Uint64()
}
