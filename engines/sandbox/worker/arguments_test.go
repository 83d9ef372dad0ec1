package worker

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines/sandbox/confine"
)

func TestArguments(t *testing.T) {
	for _, options := range []confine.Options{
		{MaxBudget: 1 << 20},
		{MaxBudget: 1 << 40, WithoutSeccomp: true},
		{MaxBudget: 1, LandlockABI: 5},
		{MaxBudget: 1, LandlockABI: -1},
	} {
		got, err := readArguments(append([]string{"v1.2.3"}, Arguments(options)...))
		if diff := cmp.Diff(options, got); err != nil || diff != "" {
			t.Errorf("error %v, (-want +got):\n%s", err, diff)
		}
	}
	for _, bad := range [][]string{nil, {maxBudget}, {maxBudget + "0"}, {maxBudget + "1", landlockABI + "x"}} {
		if options, err := readArguments(bad); err == nil {
			t.Errorf("%q: %v, want an error", bad, options)
		}
	}
}
