package wire_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/libretto-k8s/libretto/engines/enginetest"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// BenchmarkCodec compares the codec with encoding/json on requests of about 16, 146 and 1443 KB.
func BenchmarkCodec(b *testing.B) {
	for _, replicas := range []int{3, 30, 300} {
		request := enginetest.StatefulSetRequest(replicas, replicas, replicas)
		message, err := encode(request)
		if err != nil {
			b.Fatal(err)
		}
		text, err := json.Marshal(request)
		if err != nil {
			b.Fatal(err)
		}
		run := func(name string, bytes int, once func() error) {
			b.Run(fmt.Sprintf("%s/replicas=%d", name, replicas), func(b *testing.B) {
				b.SetBytes(int64(bytes))
				b.ReportAllocs()
				for b.Loop() {
					if err := once(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		buffer := []byte{}
		run("encode", len(message), func() error {
			e := wire.NewEncoder(buffer[:0])
			e.Value(request)
			buffer = e.Bytes()
			return e.Err()
		})
		run("marshal", len(text), func() error { _, err := json.Marshal(request); return err })
		run("decode", len(message), func() error { _, err := wire.NewDecoder(message).Value(); return err })
		run("decode-copy", len(message), func() error {
			d := wire.NewDecoder(message)
			d.Copy = true
			_, err := d.Value()
			return err
		})
		run("unmarshal", len(text), func() error { var v any; return json.Unmarshal(text, &v) })
	}
}
