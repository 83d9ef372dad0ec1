package protocol_test

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"testing"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
	"github.com/libretto-k8s/libretto/test/heapstat"
)

// shapes are values of n parts, of which the host has to make much more than the message has bytes. n is about as
// many as it accepts, or a little more.
var shapes = map[string]struct {
	n    int
	make func(n int) any
}{
	"nulls":         {6_000_000, func(n int) any { return make([]any, n) }},
	"numbers":       {1_800_000, func(n int) any { return list(n, func(i int) any { return int64(1000 + i) }) }},
	"small lists":   {2_000_000, func(n int) any { return list(n, func(int) any { return []any{nil} }) }},
	"long lists":    {3_000, func(n int) any { return list(n, func(int) any { return make([]any, 2000) }) }},
	"empty objects": {1_600_000, func(n int) any { return list(n, func(int) any { return map[string]any{} }) }},
	"small objects": {290_000, func(n int) any { return list(n, func(int) any { return map[string]any{"": nil} }) }},
	"57 fields":     {18_500, func(n int) any { return list(n, func(int) any { return fields(57) }) }},
	"many fields":   {900_000, func(n int) any { return fields(n) }},
	"pods":          {34_500, func(n int) any { return map[string]any{"children": list(n, pod)} }},
}

func list(n int, item func(i int) any) any {
	l := make([]any, n)
	for i := range l {
		l[i] = item(i)
	}
	return l
}

func fields(n int) map[string]any {
	m := make(map[string]any, n)
	for i := range n {
		m[fmt.Sprint(i)] = nil
	}
	return m
}

func pod(i int) any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": fmt.Sprintf("pod-%d", i), "labels": map[string]any{"app": "web", "index": fmt.Sprint(i)}},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "web", "image": fmt.Sprintf("web:%d", i), "env": []any{
			map[string]any{"name": "INDEX", "value": fmt.Sprint(i)}, map[string]any{"name": "MODE", "value": fmt.Sprintf("mode-%d", i)},
		}}}},
	}
}

// largest returns the message of about the largest value of n parts that the host accepts.
func largest(t *testing.T, n int, shape func(n int) any) []byte {
	t.Helper()
	for ; n > 0; n -= n/10 + 1 {
		message := protocol.Answer{Response: engines.Response{Body: shape(n)}}.Append(nil, wire.NewObjects())
		switch a, err := protocol.ReadAnswer(message, nil); {
		case err != nil:
			t.Fatal(err)
		case a.Err == nil:
			return message
		}
	}
	t.Fatal("not even one part is accepted")
	return nil
}

// TestPeakOfLargeAnswer bounds the heap while an answer near the limits is decoded, and afterwards.
func TestPeakOfLargeAnswer(t *testing.T) {
	const mostKept, mostPeak = protocol.MaxResponseMemory * 5 / 4, protocol.MaxResponseMemory * 3 / 2
	if !heapstat.Collected(t) {
		return
	}
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			message := largest(t, shape.n, shape.make)
			runtime.GC()
			runtime.GC() // Of what the garbage kept.
			before := heapBytes()
			peak := heapstat.Sample()
			a, err := protocol.ReadAnswer(message, nil)
			most := peak()
			if err != nil || a.Err != nil {
				t.Fatal(err, a.Err)
			}
			runtime.GC()
			kept := heapBytes() - before
			t.Logf("a message of %d KiB: peak %d MiB, kept %d MiB", len(message)>>10, (most-before)>>20, kept>>20)
			if kept > mostKept || most-before > mostPeak {
				t.Errorf("the answer may take %d MiB, and decoding it %d MiB", mostKept>>20, mostPeak>>20)
			}
			runtime.KeepAlive(a)
			runtime.KeepAlive(message)
		})
	}
}

// heapBytes returns the size of all objects on the heap, those to be collected included.
func heapBytes() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64())
}
