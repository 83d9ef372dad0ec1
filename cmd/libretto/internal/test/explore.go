package test

import (
	"fmt"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/test/explore"
	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/controllertest/suite"
)

// exploreOptions are the flags of test that are about exploring.
type exploreOptions struct {
	explore bool
	paths   int
	seed    uint64
}

func (o *exploreOptions) addTo(f *pflag.FlagSet) {
	o.paths = explore.DefaultPaths
	f.BoolVar(&o.explore, "explore", false, "let things go wrong in all states of each case: all paths must come to the same end")
	f.IntVar(&o.paths, "explore-paths", o.paths, "how many paths --explore makes for each case")
	f.Uint64Var(&o.seed, "explore-seed", 0, "selects the paths if there are more")
}

// check returns an error for flags that do not go together.
func (o *exploreOptions) check() error {
	if o.paths < 1 {
		return fmt.Errorf("--explore-paths %d: must be at least 1", o.paths)
	}
	return nil
}

// arguments returns the flags as they were given.
func (o *exploreOptions) arguments() []string {
	if !o.explore {
		return nil
	}
	words := []string{"--explore"}
	if o.paths != explore.DefaultPaths {
		words = append(words, "--explore-paths", strconv.Itoa(o.paths))
	}
	if o.seed != 0 {
		words = append(words, "--explore-seed", strconv.FormatUint(o.seed, 10))
	}
	return words
}

// apply makes a run explore its cases. say is called with the result of each.
func (o *exploreOptions) apply(to *suite.Options, say func(string)) {
	if !o.explore {
		return
	}
	explorer := explore.Explorer{
		Options: explore.Options{Paths: o.paths, Seed: o.seed},
		Explored: func(r controllertest.Result, report explore.Report) {
			if report.Skipped != "" {
				say(fmt.Sprintf("%s: not explored: %s", r.ID(), report.Skipped))
			} else {
				say(fmt.Sprintf("%s: explored %d paths from %d states%s", r.ID(), report.Paths, report.States, left(report.Left)))
			}
		},
	}
	explorer.AddTo(to)
}

// left returns the end of a sentence about paths that were not made.
func left(paths int) string {
	if paths == 0 {
		return ""
	}
	return fmt.Sprintf(", and left %d (--explore-paths)", paths)
}
