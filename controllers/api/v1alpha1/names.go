package v1alpha1

import (
	"crypto/sha256"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Labels and annotations that Libretto writes or reads. All but those of maps, LogLevelAnnotation,
// ApprovedRevisionAnnotation, ApprovalReasonAnnotation, RolloutRequestAnnotation, ScriptRevisionAnnotation and CompositeLabel are
// metacontroller's (section 0 of the specification), so that its objects are found again.
const (
	// ApprovedRevisionAnnotation is on a definition, or on a ConfigMap of its scripts. Its value is the ID of a revision of the scripts, in
	// full or its first 16 digits, which takes over whatever its preview says.
	ApprovedRevisionAnnotation = GroupName + "/approved-revision"
	// ApprovalReasonAnnotation is beside it. Its value is why the revision is approved, for people.
	ApprovalReasonAnnotation = GroupName + "/approval-reason"
	// ControllerUIDLabel is the label of a generated selector on children. Its value is the
	// parent's UID.
	ControllerUIDLabel = "controller-uid"
	// RevisionGroupLabel holds the parent's API group on a ControllerRevision, empty for the core group.
	RevisionGroupLabel = GroupName + "/apiGroup"
	// RevisionResourceLabel holds the parent's plural on a ControllerRevision.
	RevisionResourceLabel = GroupName + "/resource"
	// CompositeLabel holds the name of its CompositeController on a ControllerRevision,
	// so that several of them can roll out children of one parent. metacontroller does not set it.
	CompositeLabel = GroupName + "/composite-controller"
	// AnalysisLabel holds the name of a definition on the Jobs of its analyses, as AnalysisLabelValue returns it.
	AnalysisLabel = GroupName + "/analysis-of"
	// DecoratorAnnotation marks an attachment with the name of its DecoratorController.
	DecoratorAnnotation = GroupName + "/decorator-controller"
	// LogLevelAnnotation is on a definition. Its value is the verbosity of the host's log about it, from 0 to 4.
	LogLevelAnnotation = GroupName + "/log-level"
	// RolloutRequestAnnotation is on a definition. Its value asks for something in one step of one edit: see ScriptRolloutStatus.Request.
	RolloutRequestAnnotation = GroupName + "/rollout-request"
	// ScriptRevisionAnnotation holds the whole ID of the revision of the scripts that the children of a ControllerRevision
	// were made by, if the definition has scriptChanges: Rolling.
	ScriptRevisionAnnotation = GroupName + "/script-revision"
	// MapAnnotation marks an output with the name of its MapController.
	MapAnnotation = GroupName + "/map-controller"
	// MapKey is on every output of a MapController: the label holds a hash of
	// the input's identity, the annotation <group>/<Kind>/<namespace>/<name>.
	MapKey = GroupName + "/map-key"
)

// The parts of finalizers before the definition's name (section 0 of the specification).
const (
	compositeFinalizerPrefix = "metacontroller.io/compositecontroller-"
	decoratorFinalizerPrefix = "metacontroller.io/decoratorcontroller-"
	mapFinalizerPrefix       = "metacontroller.io/mapcontroller-"
)

// Finalizer returns the finalizer that the definition adds to its parents if it has a finalize hook.
func (c *CompositeController) Finalizer() string {
	return finalizer(compositeFinalizerPrefix, UniqueName(c))
}

// Finalizer returns the finalizer that the definition adds to its parents if it has a finalize hook.
func (d *DecoratorController) Finalizer() string {
	return finalizer(decoratorFinalizerPrefix, UniqueName(d))
}

// Finalizer returns the finalizer that the definition adds to its parents if it has a finalize hook.
func (m *MapController) Finalizer() string { return finalizer(mapFinalizerPrefix, UniqueName(m)) }

// FinalizerKind returns the kind of definition that a finalizer belongs to, or "".
func FinalizerKind(finalizer string) string {
	for prefix, kind := range map[string]string{
		compositeFinalizerPrefix: CompositeControllerKind,
		decoratorFinalizerPrefix: DecoratorControllerKind,
		mapFinalizerPrefix:       MapControllerKind,
	} {
		if strings.HasPrefix(finalizer, prefix) {
			return kind
		}
	}
	return ""
}

// FinalizerOf returns the finalizer of a definition of a UniqueName, or "" for any other kind.
func FinalizerOf(kind, name string) string {
	switch kind {
	case CompositeControllerKind:
		return finalizer(compositeFinalizerPrefix, name)
	case DecoratorControllerKind:
		return finalizer(decoratorFinalizerPrefix, name)
	case MapControllerKind:
		return finalizer(mapFinalizerPrefix, name)
	}
	return ""
}

// UniqueName returns the name of a definition, with its namespace in front if it has one: what is marked with it belongs to no other
// definition of its kind. The character between them may be in labels and finalizers, and in no name of an object.
func UniqueName(definition metav1.Object) string {
	if namespace := definition.GetNamespace(); namespace != "" {
		return namespace + "_" + definition.GetName()
	}
	return definition.GetName()
}

// longestName is the maximum length of a label's value, and of a finalizer behind its slash.
const longestName = 63

// RevisionLabelValue returns the value of CompositeLabel for a CompositeController.
func (c *CompositeController) RevisionLabelValue() string {
	return shortened(UniqueName(c), longestName)
}

// AnalysisLabelValue returns the value of AnalysisLabel for a definition of a UniqueName.
func AnalysisLabelValue(definition string) string { return shortened(definition, longestName) }

// finalizer returns prefix and name, shortened to what the API server accepts. metacontroller
// can't add the finalizer of a long name.
func finalizer(prefix, name string) string {
	return prefix + shortened(name, longestName-len(prefix)+strings.Index(prefix, "/")+1)
}

// shortened returns name with its end replaced by a hash if it is longer than most.
func shortened(name string, most int) string {
	if len(name) <= most {
		return name
	}
	hash := fmt.Sprintf("-%.8x", sha256.Sum256([]byte(name)))
	return name[:most-len(hash)] + hash
}
