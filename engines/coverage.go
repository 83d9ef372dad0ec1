package engines

// MaxCoveragePoints bounds the points of a program, so that a worker can't make its host hold many.
const MaxCoveragePoints = 1 << 16

// CoveragePoint is a place in a script that calls reach: a statement, or an outcome of a decision.
type CoveragePoint struct {
	// Location is where the statement or the decision begins, in the file as it is in the script.
	Location Location
	// Decision is what decides, such as "if" or "&&". It is empty for a statement.
	Decision string
	// Outcome is the outcome of the decision, counted from 0: true comes before false, and cases are in their order.
	Outcome int
}

// Coverage is a set of the points of a program, by their indices.
type Coverage []byte

// NewCoverage returns an empty set for that many points.
func NewCoverage(points int) Coverage { return make(Coverage, (points+7)/8) }

// Add adds a point.
func (c Coverage) Add(point int) { c[point/8] |= 1 << (point % 8) }

// Has reports whether a point is in the set.
func (c Coverage) Has(point int) bool { return point/8 < len(c) && c[point/8]&(1<<(point%8)) != 0 }

// TooManyPoints returns the error of a script that has more points than a program may have.
func TooManyPoints(path string) *Error {
	return InvalidError(Location{File: path}, "coverage: the files of this script have more than %d statements and outcomes of decisions: "+
		"put libraries into node_modules or vendor, or test without coverage", MaxCoveragePoints)
}
