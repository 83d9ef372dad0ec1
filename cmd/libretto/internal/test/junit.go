package test

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/runtime/values/printable"
)

// junit writes one document after the last result, as Jenkins and GitLab read it: a testsuite for each file.
type junit struct {
	Options
	out    io.Writer
	suites map[string]*junitSuite
	order  []*junitSuite
}

type junitSuites struct {
	XMLName  xml.Name      `xml:"testsuites"`
	Tests    int           `xml:"tests,attr"`
	Failures int           `xml:"failures,attr"`
	Errors   int           `xml:"errors,attr"`
	Time     string        `xml:"time,attr"`
	Suites   []*junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`

	duration time.Duration
}

type junitCase struct {
	Name string `xml:"name,attr"`
	// ClassName is the file: GitLab shows it as the suite, and tells cases apart by it.
	ClassName string        `xml:"classname,attr"`
	File      string        `xml:"file,attr"`
	Time      string        `xml:"time,attr"`
	Skipped   *junitSkipped `xml:"skipped"`
	Error     *junitFailure `xml:"error"`
	Failure   *junitFailure `xml:"failure"`
	SystemOut string        `xml:"system-out,omitempty"`
}

type junitSkipped struct {
	Message string `xml:"message,attr"`
}

// junitFailure has all failures of a case: readers take one for each.
type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

func junitSeconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// Report keeps a result.
func (j *junit) Report(r controllertest.Result) error {
	suite := j.suites[r.File]
	if suite == nil {
		suite = &junitSuite{Name: r.File}
		j.suites[r.File] = suite
		j.order = append(j.order, suite)
	}
	c := junitCase{
		Name: r.Name, ClassName: r.File, File: r.File, Time: junitSeconds(r.Duration), SystemOut: printable.Text(strings.Join(r.Logs, "\n")),
	}
	suite.Tests++
	suite.duration += r.Duration
	switch r.Outcome {
	case controllertest.Skipped:
		suite.Skipped++
		c.Skipped = &junitSkipped{Message: r.Reason}
	case controllertest.Failed:
		suite.Failures++
		c.Failure = j.failure(r)
	case controllertest.Errored:
		suite.Errors++
		c.Error = j.failure(r)
	case controllertest.Passed:
	}
	suite.Cases = append(suite.Cases, c)
	return nil
}

func (j *junit) failure(r controllertest.Result) *junitFailure {
	f := &junitFailure{Message: r.Reason, Type: string(r.Outcome)}
	var texts []string
	for i, failure := range r.Failures {
		if i == 0 {
			f.Message = printable.Text(message(failure))
			if failure.Check != "" {
				f.Type = string(failure.Check)
			}
		}
		texts = append(texts, j.plain(failure))
	}
	if j.Rerun != nil {
		texts = append(texts, j.Rerun(r))
	}
	f.Text = printable.Text(strings.Join(texts, "\n"))
	return f
}

// Close writes the document.
func (j *junit) Close(s Summary) error {
	all := junitSuites{Tests: s.Total(), Time: junitSeconds(s.Duration), Suites: j.order}
	for _, suite := range j.order {
		suite.Time = junitSeconds(suite.duration)
		all.Failures += suite.Failures
		all.Errors += suite.Errors
	}
	text, err := xml.MarshalIndent(all, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(j.out, "%s%s\n", xml.Header, text)
	}
	return err
}
