package objectjson

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
)

// BenchmarkDecode decodes a Pod with managedFields, as package unstructured does and as this package does: without
// sharing, and among others like it.
func BenchmarkDecode(b *testing.B) {
	data := []byte(podText)
	b.Run("unstructured", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if err := new(unstructured.Unstructured).UnmarshalJSON(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, options := range map[string]Options{"objectjson": {}, "objectjson, sharing": {Interner: NewInterner()}} {
		texts := [][]byte{data}
		if options.Interner != nil {
			texts = pods(1000)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := Decode(texts[i%len(texts)], options); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// pods returns the texts of Pods of one template: their names, versions, addresses and times are their own.
func pods(number int) [][]byte {
	var all [][]byte
	for i := range number {
		n := fmt.Sprintf("%05d", i)
		all = append(all, []byte(strings.NewReplacer("web-0", "web-"+n, "184467", "18"+n, "10.2.3.4", "10.2.0."+n, "x7k2p", n,
			"8c7a-6a1f", "8c7a-"+n, "node-7", fmt.Sprintf("node-%d", i%97), "aabbccdd", "aab"+n).Replace(podText)))
	}
	return all
}

// configMaps returns the texts of distinct ConfigMaps of 1.5 KB, as a controller with dynamic apply makes them. End is
// the end of each line.
func configMaps(number int, end string) [][]byte {
	var all [][]byte
	for i := range number {
		payload := strings.Repeat(fmt.Sprintf("line %05d of a file", i)+end, 75)
		all = append(all, []byte(strings.NewReplacer("a-0", fmt.Sprintf("parent%d-%d", i/10, i), `"18"`, fmt.Sprintf(`"%d"`, i),
			"8c7a-6a1f", fmt.Sprintf("8c7a-%d", i), "444455556666", fmt.Sprintf("%012d", i/10),
			`a\\nb`, strings.ReplaceAll(payload, `\`, `\\`), `a\nb`, payload).Replace(configMapText)))
	}
	return all
}

// events returns the events of a watch.
func events(objects [][]byte) []byte {
	var b bytes.Buffer
	for _, object := range objects {
		fmt.Fprintf(&b, "{\"type\":\"ADDED\",\"object\":%s}\n", object)
	}
	return b.Bytes()
}

// BenchmarkEvent decodes events of a watch, as a client of package dynamic does and as this package does.
func BenchmarkEvent(b *testing.B) {
	stream := events(pods(1000))
	b.Run("client-go", func(b *testing.B) {
		scheme := apiruntime.NewScheme()
		metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
		serializer := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{})
		open := func() streaming.Decoder {
			return streaming.NewDecoder(json.Framer.NewFrameReader(io.NopCloser(bytes.NewReader(stream))), serializer)
		}
		decoder := open()
		b.SetBytes(int64(len(stream) / 1000))
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if i%1000 == 0 {
				decoder = open()
			}
			var event metav1.WatchEvent
			if _, _, err := decoder.Decode(nil, &event); err != nil {
				b.Fatal(err)
			}
			if _, err := apiruntime.Decode(unstructured.UnstructuredJSONScheme, event.Object.Raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("objectjson", func(b *testing.B) {
		options := Options{Interner: NewInterner()}
		decoder := NewDecoder(bytes.NewReader(stream), options)
		b.SetBytes(int64(len(stream) / 1000))
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if i%1000 == 0 {
				decoder = NewDecoder(bytes.NewReader(stream), options)
			}
			if _, err := decoder.Event(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkHeap measures the heap that stays for a decoded object among 10 000.
func BenchmarkHeap(b *testing.B) {
	const number = 10_000
	for name, texts := range map[string][][]byte{
		"ConfigMaps": configMaps(number, "\\n"), "ConfigMaps of one line": configMaps(number, " "), "Pods": pods(number),
	} {
		data := events(texts)
		for how, decode := range map[string]func(*Decoder) (map[string]any, error){
			"objectjson":   func(d *Decoder) (map[string]any, error) { e, err := d.Event(); return e.Object, err },
			"unstructured": nil,
		} {
			b.Run(name+"/"+how, func(b *testing.B) {
				for b.Loop() {
					before := heap()
					kept := make([]map[string]any, 0, number)
					decoder := NewDecoder(bytes.NewReader(data), Options{Interner: NewInterner()})
					for _, text := range texts {
						var object unstructured.Unstructured
						var err error
						if decode == nil {
							err = object.UnmarshalJSON(text)
							dropManagedFields(object.Object)
						} else {
							object.Object, err = decode(decoder)
						}
						if err != nil {
							b.Fatal(err)
						}
						kept = append(kept, object.Object)
					}
					b.ReportMetric(float64(heap()-before)/number, "kept-bytes/object")
					b.ReportMetric(float64(len(data))/number, "text-bytes/object")
					runtime.KeepAlive(kept)
					runtime.KeepAlive(decoder)
				}
			})
		}
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// TestAllocations checks that decoding a Pod among others like it takes at most a third of the allocations that package
// unstructured makes.
func TestAllocations(t *testing.T) {
	texts, i := pods(300), 0
	theirs := testing.AllocsPerRun(100, func() {
		if err := new(unstructured.Unstructured).UnmarshalJSON(texts[0]); err != nil {
			t.Fatal(err)
		}
	})
	options := Options{Interner: NewInterner()}
	ours := testing.AllocsPerRun(len(texts)-1, func() {
		if _, err := Decode(texts[i], options); err != nil {
			t.Fatal(err)
		}
		i++
	})
	if 3*ours > theirs {
		t.Errorf("%.0f allocations, want at most a third of %.0f", ours, theirs)
	}
	t.Logf("%.0f allocations, unstructured %.0f", ours, theirs)
}
