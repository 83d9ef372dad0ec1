package scripts

import (
	"context"
	"path"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/engines"
)

// Tester runs the tests that come with scripts, before a new text serves.
type Tester interface {
	// Test runs the tests of a text that compiled. A Library makes one call at a time for each trust domain, and few at once. Test
	// returns soon after ctx ends. An error means that the tests could not be run, and that another attempt may help.
	Test(ctx context.Context, text TestedText) (TestReport, error)
}

// TestedText is a text, and what its tests are about. It must not be changed.
type TestedText struct {
	// Definition is the definition as it is in the cluster.
	Definition *unstructured.Unstructured
	// Spec is its part about scripts.
	Spec Spec
	// Files are the files of the tree, and Programs the hooks that were compiled from them.
	Files       engines.Files
	Programs    map[string]engines.Program
	TrustDomain string
}

// TestReport is the result of all tests of a text.
type TestReport struct {
	// Passed is the number of cases that passed.
	Passed int
	// Skipped are the cases that were not run, each with the reason.
	Skipped []string
	// Failures are those of cases, and of files that are no tests.
	Failures []TestFailure
}

// TestFailure is a case that failed, or a file of tests that can't be read.
type TestFailure struct {
	// Location is in a file of the tree.
	Location engines.Location
	// Message names the case and the difference.
	Message string
}

// testError is why a text does not serve although it compiled.
type testError struct {
	location engines.Location
	message  string
	// transient reports whether the same text may pass without an edit.
	transient bool
}

// Error returns the place and the message.
func (e *testError) Error() string {
	if e.location.File == "" {
		return e.message
	}
	return e.location.String() + ": " + e.message
}

// ReasonTestsFailed is the reason of problems with tests.
const ReasonTestsFailed = "TestsFailed"

// IsLibrary reports whether a file of a tree is one of a package that others wrote, by its folder: what npm and jsonnet-bundler install.
func IsLibrary(file string) bool {
	for folder := path.Dir(file); folder != "." && folder != "/"; folder = path.Dir(folder) {
		if name := path.Base(folder); name == "node_modules" || name == "vendor" {
			return true
		}
	}
	return false
}

// IsTest reports whether a file of a tree is one of tests, by its name. No hook imports it. The tests of libraries are their authors'.
func IsTest(registry *engines.Registry, file string) bool {
	return !IsLibrary(file) && (registry.TestsIn(file) != nil || strings.HasSuffix(file, testSuffix))
}

const (
	// testTimeout is how long all tests of a text may take together: see engines.WithBudget.
	testTimeout = 30 * time.Second
	// testGrace is how much longer a Tester may take to return. It is left behind then.
	testGrace = time.Second
	// testingAfter is how long tests run before that is reported.
	testingAfter = time.Second
)
