package preview

import (
	"fmt"
	"slices"
	"testing"
)

// BenchmarkRun previews parents of ten children each, as a host does that has them in its caches and needs neither schemas nor a second pass, for a text that
// changes nothing and one that changes all of them. Hooks take no time here: what is measured is what they are called from.
func BenchmarkRun(b *testing.B) {
	suffixes := []string{"-0", "-1", "-2", "-3", "-4", "-5", "-6", "-7", "-8", "-9"}
	for _, parents := range []int{20, 100} {
		for name, value := range map[string]string{"same": "1", "other": "2"} {
			b.Run(fmt.Sprintf("%d/%s", parents, name), func(b *testing.B) {
				s := settled(b, "InPlace", some("1", suffixes...), parents)
				base := *s.base
				base.Resources, base.Schemas, s.base = slices.Clone(base.Resources), nil, &base
				for i := range base.Resources {
					base.Resources[i].Schema = nil
				}
				for b.Loop() {
					want := 0
					if value == "2" {
						want = parents * len(suffixes)
					}
					if got := s.preview(b, some(value, suffixes...), func(in *Input) { in.Passes = 1 }); len(got) != want {
						b.Fatalf("%d changes, want %d", len(got), want)
					}
				}
			})
		}
	}
}
