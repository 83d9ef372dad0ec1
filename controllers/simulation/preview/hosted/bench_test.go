package hosted

import (
	"fmt"
	"testing"
)

// BenchmarkPreview previews hooks that take no time, of parents with three children each: what an edit takes longer for them.
func BenchmarkPreview(b *testing.B) {
	for _, parents := range []int{20, 100} {
		for name, value := range map[string]string{"same": "1", "other": "2"} {
			b.Run(fmt.Sprintf("%s/%d", name, parents), func(b *testing.B) {
				s := settled(b, "InPlace", script, "", making("1", three), parents, nil)
				next := making(value, three)
				for b.Loop() {
					if p := s.preview(b, next, 100); p.Held != "" || p.Unknown > 0 {
						b.Fatal(p)
					}
				}
			})
		}
	}
}
