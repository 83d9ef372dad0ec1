package cli

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// DefaultLease is the name of the host's lease: it is metacontroller's, so that only one of the two works.
const DefaultLease = "metacontroller"

// The labels of a lease, by which a host says what it is. HolderLabel is the end of the holder's identity: another one keeps the labels
// when it takes the lease.
const (
	NameLabel    = "app.kubernetes.io/name"
	VersionLabel = "app.kubernetes.io/version"
	CommitLabel  = "libretto.dev/commit"
	HolderLabel  = "libretto.dev/holder"
)

// LeaseLabels returns the labels of the lease of a host.
func LeaseLabels(b Build, holder string) map[string]string {
	return map[string]string{
		NameLabel: "libretto", VersionLabel: labelValue(b.Version), CommitLabel: labelValue(b.Commit), HolderLabel: holder,
	}
}

// labelValue returns a text as the value of a label. Versions may have a plus, which Helm writes as an underscore, too.
func labelValue(text string) string {
	text = strings.ReplaceAll(text, "+", "_")
	if len(validation.IsValidLabelValue(text)) > 0 {
		return ""
	}
	return text
}
