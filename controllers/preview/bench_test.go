package preview

import (
	"fmt"
	"testing"
)

// BenchmarkRun previews parents of ten children each, as a host does that has them in its caches, for a text that changes nothing and one
// that changes all of them. Hooks take no time here: what is measured is what they are called from.
func BenchmarkRun(b *testing.B) {
	suffixes := []string{"-0", "-1", "-2", "-3", "-4", "-5", "-6", "-7", "-8", "-9"}
	for _, parents := range []int{20, 100} {
		for name, value := range map[string]string{"same": "1", "other": "2"} {
			b.Run(fmt.Sprintf("%d/%s", parents, name), func(b *testing.B) {
				s := settled(b, "InPlace", some("1", suffixes...), parents)
				for b.Loop() {
					want := 0
					if value == "2" {
						want = parents * len(suffixes)
					}
					if got := s.preview(b, some(value, suffixes...), nil); len(got) != want {
						b.Fatalf("%d changes, want %d", len(got), want)
					}
				}
			})
		}
	}
}
