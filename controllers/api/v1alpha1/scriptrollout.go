package v1alpha1

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ScriptRollout is how an edit of the scripts reaches the parents.
type ScriptRollout struct {
	// Preview holds an edit that would do more than this to all parents there are.
	// Without it an edit is previewed on a sample of the parents.
	// +optional
	Preview *ScriptPreview `json:"preview,omitempty"`
	// Steps are groups of parents that get an edit one after another, and each keeps
	// it. All other parents follow after the last step. Without steps all parents get
	// an edit at once.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Steps []ScriptRolloutStep `json:"steps,omitempty"`
	// FailurePolicy is what happens if a parent of a step fails that did not fail
	// before, or its children become unhealthy: Rollback takes the edit back from all
	// parents, Hold leaves them as they are and goes no further. Defaults to Rollback.
	// +optional
	// +kubebuilder:validation:Enum=Rollback;Hold
	FailurePolicy ScriptFailurePolicy `json:"failurePolicy,omitempty"`
	// ProgressDeadlineSeconds is the time within which a step must go well: all of its
	// parents have been synced by the edit, and their children are ready. If it does not,
	// failurePolicy says what happens. Defaults to 600.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 1",message="must be at least 1 second"
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`
	// Paused keeps every parent at its revision: no edit begins, and no step ends,
	// until this is false again. Defaults to false.
	// +optional
	Paused *bool `json:"paused,omitempty"`
	// Revision is the ID, or its first 16 digits, of an archived revision that serves
	// all parents at once whatever the sources hold, until this is taken away. The
	// command libretto history lists them.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9a-f]{16}|[0-9a-f]{64})$')",message="must be the 64 digits of a revision's ID, or the first 16: see libretto history"
	Revision string `json:"revision,omitempty"`
	// Approvals is where the annotation metacontroller.k8s.io/approved-revision lets an
	// edit through: Definition, on the definition alone; ConfigMap, also on a ConfigMap of
	// its scripts, so that one commit has a text and its approval, or on the object of Flux
	// that they are from. Defaults to Definition.
	// +optional
	// +kubebuilder:validation:Enum=Definition;ConfigMap
	Approvals ScriptApprovals `json:"approvals,omitempty"`
}

// CountsConfigMaps reports whether an annotation of a ConfigMap approves. s may be nil.
func (s *ScriptRollout) CountsConfigMaps() bool { return s != nil && s.Approvals == ConfigMapApprovals }

// ScriptApprovals is which objects the annotation that approves a revision counts on.
type ScriptApprovals string

const (
	DefinitionApprovals ScriptApprovals = "Definition"
	ConfigMapApprovals  ScriptApprovals = "ConfigMap"
)

// ScriptPreview limits what an edit may do. Each limit is a number, or a percentage of all
// there are; an edit that exceeds one is held. A limit that is left out does not count.
type ScriptPreview struct {
	// MaxDeletedChildren limits the children that the edit deletes.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) in [string] || self >= 0",message="must be a number of 0 or more, or a percentage from 0% to 100% such as 10%"
	// +kubebuilder:validation:Pattern=`^([1-9]?[0-9]|100)%$`
	MaxDeletedChildren *intstr.IntOrString `json:"maxDeletedChildren,omitempty"`
	// MaxRecreatedChildren limits the children that the edit deletes and creates again.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) in [string] || self >= 0",message="must be a number of 0 or more, or a percentage from 0% to 100% such as 10%"
	// +kubebuilder:validation:Pattern=`^([1-9]?[0-9]|100)%$`
	MaxRecreatedChildren *intstr.IntOrString `json:"maxRecreatedChildren,omitempty"`
	// MaxFailingParents limits the parents that fail with the edit and not without it.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) in [string] || self >= 0",message="must be a number of 0 or more, or a percentage from 0% to 100% such as 10%"
	// +kubebuilder:validation:Pattern=`^([1-9]?[0-9]|100)%$`
	MaxFailingParents *intstr.IntOrString `json:"maxFailingParents,omitempty"`
}

// ScriptRolloutStep is a group of parents that get an edit together.
// +kubebuilder:validation:XValidation:rule="has(self.selector) != has(self.parents)",message="exactly one of selector and parents is required"
type ScriptRolloutStep struct {
	// Selector selects parents by their labels.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// Parents is how many parents have the edit after the step: a number of at least 1,
	// or a percentage from 1% to 100% of all parents, rounded up. They are chosen by a
	// hash of their UIDs.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) in [string] || self >= 1",message="must be a number of at least 1, or a percentage from 1% to 100% such as 10%"
	// +kubebuilder:validation:Pattern=`^([1-9][0-9]?|100)%$`
	Parents *intstr.IntOrString `json:"parents,omitempty"`
	// PauseSeconds is the time between the moment when the step goes well and the next
	// step. Defaults to 0.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 0",message="must be 0 or more"
	PauseSeconds *int32 `json:"pauseSeconds,omitempty"`
	// Analysis must hold once the step goes well, and until its pause ends. It is made
	// every five seconds. If it does not hold, the step fails; if it can't be made, the step
	// waits, until progressDeadlineSeconds are over.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	Analysis []ScriptAnalysis `json:"analysis,omitempty"`
}

// ScriptAnalysis is a check of what an edit does.
// +kubebuilder:validation:XValidation:rule="(has(self.cel) ? 1 : 0) + (has(self.prometheus) ? 1 : 0) + (has(self.job) ? 1 : 0) == 1",message="exactly one of cel, prometheus and job is required"
type ScriptAnalysis struct {
	// CEL is an expression that must be true for each parent that has the edit. Its
	// variables are parent, children (a list of the parent's children, but for those that
	// are being deleted) and before.children (how many there were of the parent before the
	// edit; it is kept for at most 500 parents).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	CEL string `json:"cel,omitempty"`
	// Prometheus asks a Prometheus server.
	// +optional
	Prometheus *PrometheusAnalysis `json:"prometheus,omitempty"`
	// Job runs a Job, which must succeed.
	// +optional
	Job *JobAnalysis `json:"job,omitempty"`
}

// PrometheusAnalysis is a query and what must be true of its answer.
type PrometheusAnalysis struct {
	// Address of the server, without /api/v1, such as http://prometheus.monitoring:9090.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://[^/@?#]+(/[^@?#]*)?$')",message="must be http:// or https:// with a host, and without a user, a query and a fragment"
	Address string `json:"address"`
	// Query in PromQL. It must give a scalar, or an instant vector with at least one
	// sample, and no NaN: the check can't be made otherwise.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Query string `json:"query"`
	// SuccessCondition is a CEL expression that must be true. Its variable result is a list
	// of the values of the answer, as in result[0] < 0.01.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	SuccessCondition string `json:"successCondition"`
}

// JobAnalysis names what a Job is made from.
type JobAnalysis struct {
	// Namespace of the CronJob, and of the Job.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// CronJob has the jobTemplate. With suspend: true it runs at no other time. The Job is
	// made once for each attempt at the step, and belongs to the definition.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	CronJob string `json:"cronJob"`
}

// ScriptFailurePolicy is what happens if an edit does not go well.
type ScriptFailurePolicy string

const (
	RollbackScripts ScriptFailurePolicy = "Rollback"
	HoldScripts     ScriptFailurePolicy = "Hold"
)

// ScriptRolloutPhase is how far an edit has come.
type ScriptRolloutPhase string

const (
	// ScriptsProgressing means that a step is going on, or its pause.
	ScriptsProgressing ScriptRolloutPhase = "Progressing"
	// ScriptsPaused means that spec.scriptRollout.paused keeps everything as it is.
	ScriptsPaused ScriptRolloutPhase = "Paused"
	// ScriptsHeld means that the edit is held: by its preview, before a parent has it,
	// or because it does not go well and failurePolicy is Hold.
	ScriptsHeld ScriptRolloutPhase = "Held"
	// ScriptsRolledBack means that the edit has been taken back from all parents.
	ScriptsRolledBack ScriptRolloutPhase = "RolledBack"
	// ScriptsComplete means that one revision serves all parents.
	ScriptsComplete ScriptRolloutPhase = "Complete"
)

// ScriptRolloutStatus is how far an edit has come, of the scripts or of the definition.
// Revisions of the scripts are named by their whole SHA-256, as are edits of the definition.
type ScriptRolloutStatus struct {
	// Phase is how far the edit has come: Progressing, Paused, Held, RolledBack or
	// Complete. It is absent while the definition has no steps.
	// +optional
	Phase ScriptRolloutPhase `json:"phase,omitempty"`
	// HeldRevision is the revision that loads and is held because of what it would do, or
	// the ID of the edit: see the condition Progressing.
	// +optional
	HeldRevision string `json:"heldRevision,omitempty"`
	// ApprovedRevision is the revision, or the ID of the edit, that was let through last
	// because an annotation names it.
	// +optional
	ApprovedRevision string `json:"approvedRevision,omitempty"`
	// Approval is what is known of the annotation that names approvedRevision. It is
	// absent if the annotation had been taken away before the host looked.
	// +optional
	Approval *ScriptApproval `json:"approval,omitempty"`
	// StableRevision is the revision of the parents that do not have the edit yet, and
	// the one that a rollback goes back to.
	// +optional
	StableRevision string `json:"stableRevision,omitempty"`
	// StableSpec is the spec of the parents that do not have the edit yet, and the one
	// that a rollback goes back to. Without steps it is there while the newest spec does
	// not serve.
	// +optional
	StableSpec *StableSpec `json:"stableSpec,omitempty"`
	// UpdatedRevision is the revision that is being rolled out, or the ID of the edit.
	// +optional
	UpdatedRevision string `json:"updatedRevision,omitempty"`
	// UpdatedEdit is what updatedRevision stands for if that is an edit of the definition.
	// +optional
	UpdatedEdit *GuardedEdit `json:"updatedEdit,omitempty"`
	// FailedRevision is the revision that was rolled back last. It is not tried again
	// until it is approved by name.
	// +optional
	FailedRevision string `json:"failedRevision,omitempty"`
	// Step is the number of the present step, from 1. The step after the last one of the
	// spec has all other parents.
	// +optional
	Step *int32 `json:"step,omitempty"`
	// Steps is the number of steps, with the one that has all other parents.
	// +optional
	Steps *int32 `json:"steps,omitempty"`
	// Bound is the part of all hashes of UIDs, of 4294967296, that have the edit. It
	// never shrinks while an edit is rolled out, so that no parent goes back and forth.
	// +optional
	Bound *int64 `json:"bound,omitempty"`
	// StartedAt is when the present step began, or went on after spec.scriptRollout.paused.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// PausedAt is when the present step had gone well, and its pause began.
	// +optional
	PausedAt *metav1.Time `json:"pausedAt,omitempty"`
	// UpdatedParents is the number of parents that have been synced by the edit.
	// +optional
	UpdatedParents *int32 `json:"updatedParents,omitempty"`
	// Parents is the number of parents that the present step and those before it have.
	// +optional
	Parents *int32 `json:"parents,omitempty"`
	// UnreadyParents are the hashes of the UIDs of parents whose children were not ready
	// when their step began: they need not be ready for it to go well.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=500
	UnreadyParents []int64 `json:"unreadyParents,omitempty"`
	// FailingParents are the hashes of the UIDs of parents that failed when their step
	// began, with the stable revision: that they fail is no failure of the edit.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=500
	FailingParents []int64 `json:"failingParents,omitempty"`
	// ChildrenBefore are the numbers of children of the parents of the present step, and of
	// those before it, when their step began.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=500
	ChildrenBefore []ParentChildren `json:"childrenBefore,omitempty"`
	// Message is why the edit is held, rolled back, or has stopped at a step: for a parent
	// that fails, its name, reason and place in the script. It stays with failedRevision.
	// +optional
	Message string `json:"message,omitempty"`
}

// ParentChildren is the number of children of a parent.
type ParentChildren struct {
	// Parent is the hash of its UID.
	Parent int64 `json:"parent"`
	// Children is how many it had that were not being deleted.
	Children int32 `json:"children"`
}

// StableSpec is a spec by which parents are synced.
type StableSpec struct {
	// Generation is that of the definition when it had the spec.
	Generation int64 `json:"generation"`
	// Spec is the spec as JSON, without scriptRollout.
	Spec string `json:"spec"`
}

// ScriptApproval is what is known of the annotation that lets a revision through. Which user
// wrote it is in the audit log of the API server alone.
type ScriptApproval struct {
	// Object has the annotation, as in "ConfigMap hello/hooks".
	Object string `json:"object"`
	// Manager is the field manager that wrote the annotation, by metadata.managedFields.
	// That is what a client calls itself, and no user. It is absent if nothing is said of it.
	// +optional
	Manager string `json:"manager,omitempty"`
	// WrittenAt is when the manager last changed a field of the object, by the API server's
	// clock: the annotation is as old as that, or older.
	// +optional
	WrittenAt *metav1.Time `json:"writtenAt,omitempty"`
	// Reason is the annotation metacontroller.k8s.io/approval-reason beside it.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// What RolloutRequestAnnotation may ask for.
const (
	// PromoteRequest ends the present step, whatever it waits for, and PromoteFullRequest all steps.
	PromoteRequest     = "promote"
	PromoteFullRequest = "promote-full"
	// AbortRequest takes the edit back from all parents.
	AbortRequest = "abort"
)

// Request returns the value of RolloutRequestAnnotation that asks for something in the present step. It counts once, as no other step, and
// no other attempt with the same revision, has the same value.
func (s *ScriptRolloutStatus) Request(action string) string {
	var step int32
	var began string
	if s.Step != nil && s.StartedAt != nil {
		step, began = *s.Step, s.StartedAt.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("%s %s %d %s", action, s.UpdatedRevision, step, began)
}
