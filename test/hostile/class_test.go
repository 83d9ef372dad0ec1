//go:build linux

package hostile

import (
	"slices"

	"github.com/libretto-k8s/libretto/engines"
)

// class is what attacks of a kind have in common.
type class struct {
	about string
	// never are outcomes that would mean that such an attack went through.
	never []string
	// quick says that none of them computes anything.
	quick bool
}

var (
	success   = []string{answered}
	anyResult []string
)

// classes are the kinds of attacks there are. Every one has to be in the corpus.
var classes = map[string]class{
	"loop":      {"what has no end, or none before years: of the script's own steps", success, false},
	"native":    {"a built-in function that takes long, and looks at no clock", anyResult, false},
	"memory":    {"more memory than there is, at once or in time", anyResult, false},
	"stack":     {"recursion, in the script or in whoever reads its values", anyResult, false},
	"nesting":   {"sources that overflow a parser's stack", anyResult, false},
	"cycle":     {"values, variables and modules that hold themselves", anyResult, false},
	"regex":     {"patterns that are large, or that are tried over and over", anyResult, false},
	"error":     {"errors that run code when they are read, or that are large", success, false},
	"answer":    {"answers that are large, or no JSON", anyResult, false},
	"prototype": {"the language's own functions and names replaced", anyResult, false},
	"code":      {"programs made at run time", []string{answered, engines.Timeout.Reason(), engines.Exhausted.Reason()}, true},
	"source":    {"source maps that are elsewhere, or no source maps", []string{engines.Timeout.Reason(), engines.Exhausted.Reason()}, true},
	"reach":     {"files, variables, addresses and programs of the host", []string{engines.Timeout.Reason(), engines.Exhausted.Reason()}, true},
}

// allows reports whether that may result from an attack of the class.
func (c class) allows(outcome string) bool { return !slices.Contains(c.never, outcome) }
