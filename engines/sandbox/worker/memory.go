package worker

import (
	"runtime"
	"runtime/metrics"
)

const (
	// largeSource is the source size from which a program's memory is measured. Measuring takes two
	// collections, several times as long as loading a small program.
	largeSource = 64 << 10
	// transientFactor is how many times its final memory a small program allocates while it is loaded,
	// as a low estimate: CEL three, JavaScript eight.
	transientFactor = 3
)

// measureLoad loads a program, of which that many bytes of source are new, and returns about how many bytes it takes from
// then on.
func measureLoad(size int, load func() error) (int64, error) {
	if size < largeSource {
		before := totalAllocated()
		err := load()
		return int64(totalAllocated()-before) / transientFactor, err
	}
	before := liveHeap()
	err := load()
	return int64(liveHeap()) - int64(before), err
}

// liveHeap returns the size of the heap after a collection.
func liveHeap() uint64 {
	runtime.GC()
	return heapBytes()
}

// totalAllocated returns the bytes allocated since the start.
func totalAllocated() uint64 {
	samples := [1]metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(samples[:])
	return samples[0].Value.Uint64()
}
