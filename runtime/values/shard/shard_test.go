package shard

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDivide compares ranges with what the API server selects by their selectors. Each name is in one range, and owned by one, and names that
// are alike are divided evenly, also those that come later.
func TestDivide(t *testing.T) {
	for _, name := range []string{"namespace-%d", "team-%d-prod", "%d", "customer-%03d"} {
		for _, count := range []int{1, 2, 3, 4, 16} {
			t.Run(fmt.Sprintf(name+" in %d", 0, count), func(t *testing.T) {
				var namespaces []string
				for i := range 400 {
					namespaces = append(namespaces, fmt.Sprintf(name, i))
				}
				ranges := Divide(namespaces[:200], count)
				here, owned := make([]int, count), make([]int, count)
				for _, namespace := range namespaces {
					found, owners := 0, 0
					for i, r := range ranges {
						if r.Contains(namespace) {
							found, here[i] = found+1, here[i]+1
						}
						if r.Owns(namespace) {
							owners, owned[i] = owners+1, owned[i]+1
						}
						if got, want := r.Contains(namespace), isSelected(t, r, namespace); got != want {
							t.Errorf("%s is in %s: %t, want %t", namespace, r, got, want)
						}
					}
					if found != 1 || owners != 1 {
						t.Errorf("%s is in %d ranges and owned by %d", namespace, found, owners)
					}
				}
				for i, r := range ranges {
					if least := 400 / count / 3; here[i] < least || owned[i] < least {
						t.Errorf("range %s has %d of 400 namespaces and owns %d, want %d at least", r, here[i], owned[i], least)
					}
				}
			})
		}
	}
}

// isSelected reports whether the API server's selector of a range matches the objects of a namespace.
func isSelected(t *testing.T, r Range, namespace string) bool {
	t.Helper()
	if r.Selector() == "" {
		return true
	}
	matches, err := r.selector().Matches(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}})
	if err != nil {
		t.Fatal(err)
	}
	return matches
}

// TestFew divides fewer namespaces than there are ranges: into equally wide ones.
func TestFew(t *testing.T) {
	want := []string{
		"shardRange(object.metadata.namespace, '0x0000000000000000', '0x8000000000000000')",
		"shardRange(object.metadata.namespace, '0x8000000000000000', '0x10000000000000000')",
	}
	for i, r := range Divide([]string{"default"}, 2) {
		if r.Selector() != want[i] {
			t.Errorf("range %s: %s, want %s", r, r.Selector(), want[i])
		}
	}
}

func TestParse(t *testing.T) {
	ranges := Divide([]string{"a", "b", "c", "d", "e"}, 3)
	if got, err := Parse(Format(ranges)); err != nil || cmp.Diff(ranges, got) != "" {
		t.Errorf("error %v, -want +got:\n%s", err, cmp.Diff(ranges, got))
	}
	for text, why := range map[string]string{
		"": "none", "0x1": "hashes are missing", "0x0 0x5 0x5": "an empty range", "0x0 0x5 0x4": "not in order", "0x0 five": "no number",
	} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%s: %q is taken for %v", why, text, got)
		}
	}
}
