package worker

import (
	"runtime"
	"runtime/metrics"
)

const (
	// largeSource is from how many bytes of source it is measured what a program takes. To
	// measure takes two collections, several times what a small program takes to load.
	largeSource = 64 << 10
	// passing is how many times what it keeps a small program allocates while it is
	// loaded: three for CEL, eight for JavaScript.
	passing = 3
)

// kept loads a program, and gives what it takes of memory from then on, in bytes.
func kept(files map[string]string, load func() error) (int64, error) {
	size := 0
	for _, text := range files {
		size += len(text)
	}
	if size < largeSource {
		before := allocated()
		err := load()
		return int64(allocated()-before) / passing, err
	}
	before := live()
	err := load()
	return int64(live()) - int64(before), err
}

// live is the heap without its garbage.
func live() uint64 {
	runtime.GC()
	return heap()
}

// allocated is all that was ever allocated.
func allocated() uint64 {
	samples := [1]metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(samples[:])
	return samples[0].Value.Uint64()
}
