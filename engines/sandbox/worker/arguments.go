package worker

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/libretto-k8s/libretto/engines/sandbox/confine"
)

// Arguments of a worker process besides Argument. The last two have a number behind them.
const (
	withoutSeccomp = "without-seccomp"
	maxBudget      = "max-budget="
	landlockABI    = "landlock-abi="
)

// Arguments returns the arguments that have a worker confine itself with these options.
func Arguments(options confine.Options) []string {
	arguments := []string{maxBudget + strconv.FormatInt(options.MaxBudget, 10)}
	if options.WithoutSeccomp {
		arguments = append(arguments, withoutSeccomp)
	}
	if options.LandlockABI != 0 {
		arguments = append(arguments, landlockABI+strconv.Itoa(options.LandlockABI))
	}
	return arguments
}

// readArguments returns the options among the arguments of a worker process. It ignores others, such as
// the version of the host.
func readArguments(arguments []string) (options confine.Options, err error) {
	for _, argument := range arguments {
		if argument == withoutSeccomp {
			options.WithoutSeccomp = true
		} else if number, ok := strings.CutPrefix(argument, maxBudget); ok {
			options.MaxBudget, err = strconv.ParseInt(number, 10, 64)
		} else if number, ok := strings.CutPrefix(argument, landlockABI); ok {
			options.LandlockABI, err = strconv.Atoi(number)
		}
		if err != nil {
			return options, fmt.Errorf("argument %q: %w", argument, err)
		}
	}
	if options.MaxBudget <= 0 {
		return options, fmt.Errorf("the argument %sBYTES is missing", maxBudget)
	}
	return options, nil
}
