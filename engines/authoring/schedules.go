package authoring

import (
	"fmt"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/robfig/cron/v3"
)

// longestVersion and longestSchedule are the most characters that may be parsed.
const (
	longestVersion  = 256
	longestSchedule = 256
)

// compareVersions returns -1, 0 or 1.
func compareVersions(a, b any) (any, error) {
	left, err := version("a", a)
	if err != nil {
		return nil, err
	}
	right, err := version("b", b)
	if err != nil {
		return nil, err
	}
	return int64(left.Compare(right)), nil
}

// satisfiesVersion reports whether a version is in a range, as Helm has them.
func satisfiesVersion(value, versions any) (any, error) {
	v, err := version("version", value)
	if err != nil {
		return nil, err
	}
	text, ok := versions.(string)
	if !ok || text == "" || len(text) > longestVersion {
		return nil, wrong("range", versions, rangeExample)
	}
	constraint, err := semver.NewConstraint(text)
	if err != nil {
		return nil, wrong("range", versions, rangeExample)
	}
	return constraint.Check(v), nil
}

const rangeExample = `versions such as ">=1.30, <2" or "^1.2 || ~2.1"`

func version(parameter string, value any) (*semver.Version, error) {
	const example = `a version such as "1.30.2" or "v1.30"`
	text, ok := value.(string)
	if !ok || len(text) > longestVersion {
		return nil, wrong(parameter, value, example)
	}
	v, err := semver.NewVersion(text)
	if err != nil {
		return nil, wrong(parameter, value, example)
	}
	return v, nil
}

// nextTime returns when a schedule is due next after a time, or nil if that is never.
func nextTime(schedule, after any) (any, error) {
	const example = `five fields such as "30 4 * * 1-5", or such as "@daily", in UTC`
	text, ok := schedule.(string)
	// The parser would read files for the time zone that a text may begin with.
	if !ok || len(text) > longestSchedule || strings.Contains(text, "=") {
		return nil, wrong("schedule", schedule, example)
	}
	for field := range strings.FieldsSeq(text) {
		if strings.Trim(field, ",") == "" { // The parser would take it for one that is never due.
			return nil, fmt.Errorf("schedule has an empty field, %q: write * for any", field)
		}
	}
	due, err := cron.ParseStandard(text)
	if err != nil {
		return nil, wrong("schedule", schedule, example)
	}
	last, ok := after.(string)
	from, err := time.Parse(time.RFC3339, last)
	if !ok || err != nil {
		return nil, wrong("after", after, `a time such as "2026-01-31T04:30:00Z"`)
	}
	next := due.Next(from.UTC()) // Without a zone of its own a schedule is in that of the time.
	if next.IsZero() {
		return nil, nil
	}
	return next.Format(time.RFC3339), nil
}
