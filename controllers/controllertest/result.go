package controllertest

import (
	"time"

	"github.com/libretto-k8s/libretto/engines"
)

// Outcome is the verdict on a case.
type Outcome string

// The outcomes of cases.
const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"
	Skipped Outcome = "skipped"
	// Errored is for a case that could not be run: something is wrong with its file, or a script does not load.
	Errored Outcome = "errored"
)

// Result is the result of a case.
type Result struct {
	// File and Name identify the case. Name is that of the case, with the entry of each, or of a test function.
	File, Name string
	// Location is where the case is.
	Location engines.Location
	Outcome  Outcome
	// Reason is why the case was skipped, or what else there is to say about the outcome.
	Reason   string
	Failures []Failure
	Duration time.Duration
	// Logs are the lines that hooks logged.
	Logs []string
}

// Failure is one way in which a case failed.
type Failure struct {
	// Location is the place in the test file that was not fulfilled.
	Location engines.Location
	// Check is the check that every case makes, or empty.
	Check Check
	// Message is one sentence.
	Message string
	// Diff are lines that begin with "- " for what is wanted, "+ " for what is there, and "  " for what surrounds them.
	Diff []string
	// Case is a case, as YAML to be pasted into the test file, that fails in the same way. It is set for paths of --explore.
	Case string
	// Script is the place in a script that made the value or failed, if it is known.
	Script engines.Location
}

// ID returns "file: name", which --run selects by.
func (r Result) ID() string { return r.File + ": " + r.Name }
