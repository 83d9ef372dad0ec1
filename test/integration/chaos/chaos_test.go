// Package chaos has the faults of test/chaos happen to hosts on a real API server.
package chaos

import (
	"cmp"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/test/chaos"
	"github.com/libretto-k8s/libretto/test/env"
)

func TestMain(m *testing.M) { os.Exit(chaos.Main(m)) }

// quick is a seed whose first 20 faults leave out those kinds that take longest.
const quick = "19254"

// TestChaos runs 20 faults. LIBRETTO_FAULTS says how many, LIBRETTO_SEED which, LIBRETTO_KIND of what kind, and LIBRETTO_ONLY the numbers
// of some of them, as make chaos does.
func TestChaos(t *testing.T) {
	number := func(name, otherwise string) int {
		n, err := strconv.Atoi(cmp.Or(os.Getenv(name), otherwise))
		if err != nil {
			t.Fatalf("%s is %q: give a number, as in make chaos SEED=7 FAULTS=200", name, os.Getenv(name))
		}
		return n
	}
	o := chaos.Options{Seed: uint64(number("LIBRETTO_SEED", quick)), Faults: number("LIBRETTO_FAULTS", "20"), Kind: os.Getenv("LIBRETTO_KIND")}
	for text := range strings.FieldsSeq(os.Getenv("LIBRETTO_ONLY")) {
		n, err := strconv.Atoi(text)
		env.NoError(t, err)
		o.Only = append(o.Only, n)
		o.Faults = max(o.Faults, n)
	}
	chaos.Run(t, o)
}
