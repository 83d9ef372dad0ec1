package authoring

import (
	"math"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

// TestCallRefuses checks what only a defect of a module can ask for.
func TestCallRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		function string
		args     []any
		want     string
	}{
		"unknown":  {"nothing", nil, `there is no function "nothing"`},
		"too few":  {"hash", nil, "hash: 0 arguments, want 1"},
		"too many": {"isReady", []any{nil, nil}, "isReady: 2 arguments, want 1"},
	} {
		if _, err := Call(c.function, c.args); err == nil || err.Error() != c.want {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

// TestLent checks that the modules ask for no functions but those that there are.
func TestLent(t *testing.T) {
	for where, calls := range map[string][][]string{
		"libretto.js":        regexp.MustCompile(`librettoCall\("(\w+)"`).FindAllStringSubmatch(JavaScript, -1),
		"libretto.libsonnet": regexp.MustCompile(`lend\('(\w+)'`).FindAllStringSubmatch(Jsonnet, -1),
	} {
		if len(calls) < 5 {
			t.Errorf("%s: %d calls", where, len(calls))
		}
		for _, call := range calls {
			if _, ok := functions[call[1]]; !ok {
				t.Errorf("%s calls %s, which is not there", where, call[1])
			}
		}
	}
}

// FuzzQuantity checks that every text is refused or gives the library's number, in no time.
func FuzzQuantity(f *testing.F) {
	for _, text := range []string{
		"1.5Gi", "100m", "1e3", "-0.1n", "9223372036854775807", "1e99", "123456789012345678901234567890E", "0.000000000000000001", "", "Gi",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, err := Call("parseQuantity", []any{text})
		if err != nil {
			if message := err.Error(); !strings.HasPrefix(message, "parseQuantity: quantity is ") || len(message) > 400 {
				t.Errorf("error %q", message)
			}
			return
		}
		q, err := resource.ParseQuantity(text)
		if err != nil {
			t.Fatalf("%q is %v, and the library says %v", text, value, err)
		}
		want := q.AsApproximateFloat64()
		if got := value.(float64); math.Abs(got-want) > math.Abs(want)*1e-14 {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
		if order, err := Call("compareQuantities", []any{text, text}); err != nil || order != 0.0 {
			t.Errorf("%q compared with itself: %v, %v", text, order, err)
		}
	})
}
