// Package standard lists the engines that the binary offers.
package standard

import (
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/javascript"
	"github.com/libretto-k8s/libretto/engines/webhook"
)

// Definitions is the list, in the order in which messages name them.
func Definitions() []engines.Definition {
	return []engines.Definition{
		javascript.Definition(),
		webhook.Definition(),
	}
}
