package coverage

import (
	"encoding/json"
	"math"
)

// The report in JSON: its fields are described in docs/reference/reports.md.
type (
	jsonReport struct {
		Lines    jsonRatio  `json:"lines"`
		Branches jsonRatio  `json:"branches"`
		Files    []jsonFile `json:"files"`
	}
	jsonRatio struct {
		Covered int     `json:"covered"`
		Total   int     `json:"total"`
		Percent float64 `json:"percent"`
	}
	jsonFile struct {
		File     string    `json:"file"`
		Lines    jsonRatio `json:"lines"`
		Branches jsonRatio `json:"branches"`
		// UncoveredLines and UncoveredBranches are what no call reached.
		UncoveredLines    []int        `json:"uncoveredLines,omitempty"`
		UncoveredBranches []jsonBranch `json:"uncoveredBranches,omitempty"`
	}
	jsonBranch struct {
		Line     int    `json:"line"`
		Column   int    `json:"column,omitempty"`
		Decision string `json:"decision"`
		Outcome  int    `json:"outcome"`
	}
)

func ratio(r Ratio) jsonRatio {
	return jsonRatio{r.Covered, r.Total, math.Round(r.Percent()*10) / 10}
}

// MarshalJSON returns percentages, and what is not covered.
func (r *Report) MarshalJSON() ([]byte, error) {
	report := jsonReport{Lines: ratio(r.LineRatio()), Branches: ratio(r.BranchRatio()), Files: []jsonFile{}}
	for _, f := range r.Files {
		file := jsonFile{File: f.Name, Lines: ratio(f.LineRatio()), Branches: ratio(f.BranchRatio())}
		for _, line := range f.Lines {
			if line.Calls == 0 {
				file.UncoveredLines = append(file.UncoveredLines, line.Number)
			}
		}
		for _, d := range f.Decisions {
			for outcome, calls := range d.Outcomes {
				if calls == 0 {
					file.UncoveredBranches = append(file.UncoveredBranches, jsonBranch{d.Line, d.Column, d.Kind, outcome})
				}
			}
		}
		report.Files = append(report.Files, file)
	}
	return json.Marshal(report)
}
