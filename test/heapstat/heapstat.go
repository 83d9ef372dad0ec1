// Package heapstat measures what a test holds on the heap at its peak, the same on every machine and under every load.
package heapstat

import (
	"os"
	"os/exec"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"
)

// stopTheWorld is the setting with which the collector stops the program while it marks. One that runs beside it counts what is
// allocated meanwhile as live: as much as the load of the processors lets it.
const stopTheWorld = "gcstoptheworld=1"

// Collected reports whether the test t runs in a process whose collector stops the program and has its turn often. In another
// process it runs t once more, in such a one, passes on what that prints and whether it fails, and returns false: t has to return then.
// A process reads the setting once, at its start.
func Collected(t *testing.T) bool {
	t.Helper()
	if strings.Contains(os.Getenv("GODEBUG"), stopTheWorld) {
		percent := debug.SetGCPercent(40)
		t.Cleanup(func() { debug.SetGCPercent(percent) })
		return true
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
	command.Env = append(os.Environ(), "GODEBUG="+strings.TrimPrefix(os.Getenv("GODEBUG")+","+stopTheWorld, ","))
	output, err := command.CombinedOutput()
	t.Logf("with GODEBUG=%s:\n%s", stopTheWorld, output)
	if err != nil {
		t.Error(err)
	}
	return false
}

// Sample looks at what collections have found to be live, in bytes, until the returned function is called, which returns the most
// that was seen. Garbage does not count: how much there is depends on when the collector has its turn.
func Sample() (peak func() int64) {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	look := func() int64 {
		metrics.Read(samples)
		return int64(samples[0].Value.Uint64())
	}
	stop, result := make(chan struct{}), make(chan int64)
	go func() {
		ticker := time.NewTicker(500 * time.Microsecond)
		defer ticker.Stop()
		for most := look(); ; {
			select {
			case <-stop:
				result <- max(most, look())
				return
			case <-ticker.C:
				most = max(most, look())
			}
		}
	}()
	return func() int64 {
		close(stop)
		return <-result
	}
}
