package controllertest

import (
	"fmt"
	"strings"

	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/engines"
)

// MaxHostedBytes is how large a file of tests may be that a host runs. It is far below what the files of scripts may have, because a
// parser needs much more.
const MaxHostedBytes = 256 << 10

// hostedLimits are those of files that a host runs, whose authors must not fill its memory.
var hostedLimits = Limits{Values: 100_000, Bytes: 8 << 20}

// ParseHosted is Parse for a file among the scripts of a host, which has lower limits. It returns no file for one that is none of tests:
// other programs may use names like theirs.
func ParseHosted(file, text string) (*File, []*document.Error) {
	if problem := CheckHostedSize(file, text); problem != nil {
		return nil, []*document.Error{problem}
	}
	if !strings.Contains(text, Kind) && !strings.Contains(text, APIVersion) {
		return nil, nil
	}
	return ParseWithin(file, []byte(text), hostedLimits)
}

// CheckHostedSize returns an error for a file of tests that is too large for a host.
func CheckHostedSize(file, text string) *document.Error {
	if len(text) <= MaxHostedBytes {
		return nil
	}
	return &document.Error{Location: engines.Location{File: file}, Message: fmt.Sprintf(
		"has %d KiB, and a host runs tests of %d KiB at most: split it", len(text)>>10, MaxHostedBytes>>10)}
}

// CheckHosted returns an error for a file of objects, or a golden file, that holds more than a host reads for a case.
func CheckHosted(file, text string) error {
	if problem := CheckHostedSize(file, text); problem != nil {
		return problem
	}
	return document.CheckWithin(file, []byte(text), hostedLimits.Values)
}

// Problems returns what is wrong with tests that were read with other objects.
func Problems(objects []*document.Object) []*document.Error {
	p := &parser{names: map[string]engines.Location{}, limits: Limits{Values: maxExpanded, Bytes: maxExpandedBytes}}
	for _, object := range objects {
		p.test(object)
	}
	return p.problems
}
