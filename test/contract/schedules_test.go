package contract

import "testing"

// TestVersionsAndTimes runs the functions for versions and schedules.
func TestVersionsAndTimes(t *testing.T) {
	const (
		aVersion  = `want a version such as "1.30.2" or "v1.30"`
		aRange    = `want versions such as ">=1.30, <2" or "^1.2 || ~2.1"`
		aSchedule = `want five fields such as "30 4 * * 1-5", or such as "@daily", in UTC`
	)
	runModuleCases(t, map[string]moduleCase{
		"CompareLess":     {reason: "numbers are no texts", name: "compareVersions", args: `["1.9.0", "1.10.0"]`, want: `-1`},
		"CompareEqual":    {reason: "what is missing is 0, and builds do not count", name: "compareVersions", args: `["v1.2", "1.2.0+k3s1"]`, want: `0`},
		"CompareRelease":  {reason: "a release is after what came before it", name: "compareVersions", args: `["2.0.0", "2.0.0-rc.1"]`, want: `1`},
		"CompareOdd":      {reason: "it says which", name: "compareVersions", args: `["1.2.3", "latest"]`, fails: `compareVersions: b is "latest", ` + aVersion},
		"CompareNull":     {reason: "a field that is not there", name: "compareVersions", args: `[null, "1"]`, fails: `compareVersions: a is null, ` + aVersion},
		"CompareNumber":   {reason: "YAML makes numbers of versions", name: "compareVersions", args: `[1.1, "1"]`, fails: `compareVersions: a is 1.1, ` + aVersion},
		"Satisfies":       {reason: "both must hold", name: "satisfiesVersion", args: `["1.31.4", ">=1.30 <2"]`, want: `true`},
		"SatisfiesNot":    {reason: "one does not", name: "satisfiesVersion", args: `["2.0.0", ">=1.30, <2"]`, want: `false`},
		"SatisfiesOr":     {reason: "one of them is enough", name: "satisfiesVersion", args: `["2.1.9", "^1.2 || ~2.1"]`, want: `true`},
		"SatisfiesCaret":  {reason: "no breaking change", name: "satisfiesVersion", args: `["2.0.0", "^1.2"]`, want: `false`},
		"SatisfiesAny":    {reason: "any patch", name: "satisfiesVersion", args: `["1.2.99", "1.2.x"]`, want: `true`},
		"SatisfiesSuffix": {reason: "as Helm has it", name: "satisfiesVersion", args: `["v1.30.2-gke.1", ">=1.30"]`, want: `false`},
		"SatisfiesSaid":   {reason: "a range with a suffix means it", name: "satisfiesVersion", args: `["v1.30.2-gke.1", ">=1.30-0"]`, want: `true`},
		"SatisfiesOdd":    {reason: "a slip is reported", name: "satisfiesVersion", args: `["1.2.3", "new"]`, fails: `satisfiesVersion: range is "new", ` + aRange},
		"SatisfiesEmpty":  {reason: "nothing would be anything", name: "satisfiesVersion", args: `["1.2.3", ""]`, fails: `satisfiesVersion: range is "", ` + aRange},

		"Next":       {reason: "the next one, not the same", name: "nextTime", args: `["30 4 * * *", "2026-01-31T04:30:00Z"]`, want: `"2026-02-01T04:30:00Z"`},
		"NextZone":   {reason: "times are those of UTC", name: "nextTime", args: `["0 * * * *", "2026-01-31T23:59:00+02:00"]`, want: `"2026-01-31T22:00:00Z"`},
		"NextNames":  {reason: "days and months have names", name: "nextTime", args: `["0 0 * feb mon-fri/2", "2026-01-01T00:00:00Z"]`, want: `"2026-02-02T00:00:00Z"`},
		"NextEither": {reason: "two restrictions of days are either of them, as in cron", name: "nextTime", args: `["0 0 13 * 5", "2026-01-31T00:00:00Z"]`, want: `"2026-02-06T00:00:00Z"`},
		"NextLeap":   {reason: "years are skipped", name: "nextTime", args: `["0 0 29 2 *", "2026-01-01T00:00:00Z"]`, want: `"2028-02-29T00:00:00Z"`},
		"NextNever":  {reason: "there is no such day", name: "nextTime", args: `["0 0 30 2 *", "2026-01-01T00:00:00Z"]`, want: `null`},
		"NextDaily":  {reason: "a word for it", name: "nextTime", args: `["@daily", "2026-01-31T00:00:00.5Z"]`, want: `"2026-02-01T00:00:00Z"`},
		"NextEvery":  {reason: "an interval counts from the time", name: "nextTime", args: `["@every 90m", "2026-01-31T00:10:00Z"]`, want: `"2026-01-31T01:40:00Z"`},
		"NextTZ":     {reason: "no files of time zones are read", name: "nextTime", args: `["TZ=Europe/Paris 0 0 * * *", "2026-01-31T00:00:00Z"]`, fails: `nextTime: schedule is "TZ=Europe/Paris 0 0 * * *", ` + aSchedule},
		"NextOdd":    {reason: "a slip is reported", name: "nextTime", args: `["61 * * * *", "2026-01-31T00:00:00Z"]`, fails: `nextTime: schedule is "61 * * * *", ` + aSchedule},
		"NextEmpty":  {reason: "a field that has lost its value is a slip, and not never", name: "nextTime", args: `["0 , * * *", "2026-01-31T00:00:00Z"]`, fails: `nextTime: schedule has an empty field, ",": write * for any`},
		"NextTime":   {reason: "a date has no time", name: "nextTime", args: `["@daily", "2026-01-31"]`, fails: `nextTime: after is "2026-01-31", want a time such as "2026-01-31T04:30:00Z"`},
	})
}
