// Package standard lists the engines that the binary offers.
package standard

import (
	"slices"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/cel"
	"github.com/libretto-k8s/libretto/engines/javascript"
	"github.com/libretto-k8s/libretto/engines/jsonnet"
	"github.com/libretto-k8s/libretto/engines/webhook"
)

// Definitions returns the list, in the order in which messages name them, with all
// engines in this process.
func Definitions() []engines.Definition {
	return append(Scripts(), Others()...)
}

// Scripts returns the engines that run scripts, which belong into worker processes.
func Scripts() []engines.Definition {
	return []engines.Definition{
		javascript.Definition(),
		jsonnet.Definition(),
		cel.Definition(),
	}
}

// IsScript reports whether a file is a script, by its name.
func IsScript(path string) bool {
	return slices.ContainsFunc(Scripts(), func(d engines.Definition) bool { return d.Owns(path) })
}

// Others returns the engines that run no code of users.
func Others() []engines.Definition {
	return []engines.Definition{
		webhook.Definition(),
	}
}
