package functiontest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/pmezard/go-difflib/difflib"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/engines"
)

// runBatch runs tests in one call. If that fails, its parts are, down to single tests, so that a test which does not end costs no other
// one.
func (f *testFile) runBatch(ctx context.Context, tests []test, results []controllertest.Result) error {
	var asked []any
	var limit time.Duration
	for n, t := range tests {
		results[n] = controllertest.Result{File: f.name, Name: t.name, Location: t.location, Outcome: controllertest.Passed, Reason: t.skip}
		switch {
		case t.skip != "":
			results[n].Outcome = controllertest.Skipped
		case t.failure != nil:
			results[n].Outcome, results[n].Failures = t.outcome, []controllertest.Failure{*t.failure}
		default:
			asked, limit = append(asked, t.at), max(limit, t.timeout)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	started := time.Now()
	response, err := f.call(ctx, tests[0].name, limit, map[string]any{"run": asked})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(tests) > 1 && (err != nil || f.byPath && len(response.Logs) > 0) {
		size := f.partSize(len(tests))
		for from := 0; from < len(tests); from += size {
			to := min(from+size, len(tests))
			if err := f.runBatch(ctx, tests[from:to], results[from:to]); err != nil {
				return err
			}
		}
		return nil
	}
	answers, _ := response.Body.([]any)
	took, logged := time.Since(started)/time.Duration(len(asked)), int64(0)
	for n, t := range tests {
		if results[n].Outcome != controllertest.Passed {
			continue
		}
		var answer map[string]any
		if len(answers) > 0 {
			answer, _ = answers[0].(map[string]any)
			answers = answers[1:]
		}
		f.conclude(t, &results[n], answer, err)
		results[n].Duration = took
		until, known := answer["logs"].(int64)
		if !known {
			until = int64(len(response.Logs))
		}
		for _, line := range response.Logs[min(logged, int64(len(response.Logs))):min(max(logged, until), int64(len(response.Logs)))] {
			results[n].Logs = append(results[n].Logs, printable(line))
		}
		logged = until
	}
	return nil
}

// conclude fills in the result of a test.
func (f *testFile) conclude(t test, result *controllertest.Result, answer map[string]any, err error) {
	var failure controllertest.Failure
	message, threw := answer["message"].(string)
	equal, compared := answer["equal"].(bool)
	switch {
	case err != nil:
		failure = f.failure(t.location, err)
		if engines.KindOf(err) == engines.Timeout {
			failure.Message = fmt.Sprintf("it did not end within %s", t.timeout)
		}
	case answer == nil:
		failure = controllertest.Failure{Location: t.location, Message: "the script changed what tests are run by, and gave no result"}
	case threw:
		failure.Location, failure.Script = f.places(t.location, frames(answer["stack"]))
		failure.Message = printable(engines.Truncate(message, maxMessageBytes))
		expected, _ := answer["expected"].(string)
		actual, _ := answer["actual"].(string)
		failure.Diff = diff(expected, actual)
	case !compared || equal:
		return
	default:
		failure = controllertest.Failure{Location: t.location, Message: "it is false"}
		if expected, there := answer["expected"]; there {
			failure.Message = "actual is not as expected"
			failure.Diff = diff(pretty(expected), pretty(answer["actual"]))
		}
	}
	result.Outcome, result.Failures = controllertest.Failed, []controllertest.Failure{failure}
}

// failure returns an error of an engine as a failure at a place.
func (f *testFile) failure(at engines.Location, err error) controllertest.Failure {
	failure := controllertest.Failure{Location: f.located(engines.Location{File: f.entry}), Message: printable(err.Error())}
	if at.Line > 0 {
		failure.Location = at
	}
	var e *engines.Error
	if !errors.As(err, &e) {
		return failure
	}
	failure.Message = printable(f.explain(e.Message))
	stack := framesOf(e.Stack)
	if e.Location.File != "" && (len(stack) == 0 || stack[0] != e.Location) {
		stack = append([]engines.Location{e.Location}, stack...)
	}
	failure.Location, failure.Script = f.places(failure.Location, stack)
	return failure
}

// noGlobal matches the error of a script that expects the names of tests to be there.
var noGlobal = regexp.MustCompile(`^ReferenceError: (?:describe|test|it|expect|(?:before|after)(?:Each|All)) is not defined$`)

// explain adds the way out to messages that are written for hooks.
func (f *testFile) explain(message string) string {
	switch {
	case strings.Contains(message, "it leaves the files of this definition"):
		return message + fmt.Sprintf("; what is above the folder of the test, %s, can't be imported, as a ConfigMap would not have it: "+
			"put the test beside the scripts", f.root)
	case strings.HasPrefix(message, `No matching export in "<libretto/test>"`):
		return message + ": it has describe, test, it, expect, beforeAll, beforeEach, afterEach and afterAll"
	case noGlobal.MatchString(message):
		return message + `: import { describe, test, it, expect, beforeEach } from "libretto/test"`
	}
	return message
}

// places returns the innermost place of a stack in the file of tests, or at itself, and that in a script if it lies deeper.
func (f *testFile) places(at engines.Location, stack []engines.Location) (inTest, inScript engines.Location) {
	for n, place := range stack {
		if place.File == f.entry {
			if n > 0 {
				inScript = f.located(stack[0])
			}
			return f.located(place), inScript
		}
	}
	if len(stack) > 0 {
		inScript = f.located(stack[0])
	}
	if at.File == f.entry {
		at = f.located(at)
	}
	return at, inScript
}

// frame matches a line of a stack.
var frame = regexp.MustCompile(`^at (?:.* \()?(.+?):(\d+)(?::(\d+))?\)?$`)

func framesOf(lines []string) []engines.Location {
	var all []engines.Location
	for _, line := range lines {
		if m := frame.FindStringSubmatch(line); m != nil {
			place := engines.Location{File: m[1]}
			place.Line, _ = strconv.Atoi(m[2])
			place.Column, _ = strconv.Atoi(m[3])
			all = append(all, place)
		}
	}
	return all
}

func frames(stack any) []engines.Location {
	list, _ := stack.([]any)
	var lines []string
	for _, line := range list {
		lines = append(lines, fmt.Sprint(line))
	}
	return framesOf(lines)
}

const (
	maxMessageBytes = 4 << 10
	maxDiffLines    = 200
	// maxCompared bounds the lines of which a difference is made, which takes time of their product.
	maxCompared = 2000
)

// diff returns the difference of two texts, or nil if both are empty.
func diff(expected, actual string) []string {
	if expected == "" && actual == "" {
		return nil
	}
	a, b := strings.Split(expected, "\n"), strings.Split(actual, "\n")
	a, b = a[:min(len(a), maxCompared)], b[:min(len(b), maxCompared)]
	var lines []string
	put := func(sign string, of []string) {
		for _, line := range of {
			lines = append(lines, sign+printable(engines.Truncate(line, maxMessageBytes)))
		}
	}
	for n, group := range difflib.NewMatcherWithJunk(a, b, false, nil).GetGroupedOpCodes(3) {
		if n > 0 {
			lines = append(lines, "  ...")
		}
		for _, code := range group {
			if code.Tag == 'e' {
				put("  ", a[code.I1:code.I2])
				continue
			}
			put("- ", a[code.I1:code.I2])
			put("+ ", b[code.J1:code.J2])
		}
	}
	if len(lines) > maxDiffLines {
		more := len(lines) - maxDiffLines
		lines = append(lines[:maxDiffLines], fmt.Sprintf("  ... and %d more lines", more))
	}
	return lines
}

// pretty returns a value as JSON with sorted keys.
func pretty(v any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// printable returns a text of a script in one line without what a terminal would obey.
func printable(text string) string {
	clean := func(r rune) bool { return !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r) }
	if strings.IndexFunc(text, func(r rune) bool { return !clean(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if clean(r) {
			b.WriteRune(r)
		} else {
			quoted := strconv.QuoteToASCII(string(r))
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}
