// Package controllertest runs the tests of controllers: cases in files of kind ControllerTest, on the real reconciler, the real engines
// and a cluster in memory.
package controllertest

import (
	"encoding/json"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/engines"
)

// The header of test files.
const (
	APIVersion = "libretto.dev/v1alpha1"
	Kind       = "ControllerTest"
	// FileSuffix is the end of the names of test files.
	FileSuffix = "_test.yaml"
)

// ControllerTest is a file of cases. It is never applied to a cluster.
type ControllerTest struct {
	metav1.TypeMeta `json:",inline"`
	// Definition is the file or kustomization, relative to the test file, with the definition that is tested, its scripts and its
	// CustomResourceDefinitions. It defaults to the test file's folder, or to the file itself if there is a definition in it.
	Definition string `json:"definition,omitempty"`
	// Definitions are several in place of definition: each case is run for each of them, such as the same controller in several
	// languages, and has it in its name. A host, which tests its own definition, runs each case once.
	Definitions []string `json:"definitions,omitempty"`
	// DefinitionRef selects one of several definitions, as KIND/NAME or NAME.
	DefinitionRef string `json:"definitionRef,omitempty"`
	// Scripts are folders, relative to the test file, whose files take the place of ConfigMaps, by NAMESPACE/NAME, or that hold what
	// the artifacts of objects of Flux do, by KIND/NAMESPACE/NAME.
	Scripts map[string]string `json:"scripts,omitempty"`
	// Given are objects that are in the cluster when each case begins: objects, and names of files relative to the test file.
	Given []Given `json:"given,omitempty"`
	// Namespace is that of objects without one. It defaults to default.
	Namespace string `json:"namespace,omitempty"`
	// Now is the time at which each case begins. It defaults to 2026-01-01T00:00:00Z.
	Now *metav1.Time `json:"now,omitempty"`
	// SkipChecks turns off checks that every case makes: by name, with the reason.
	SkipChecks map[Check]string `json:"skipChecks,omitempty"`
	// Cases are independent of each other.
	Cases []Case `json:"cases"`

	// File is the name of the file, and Location where the document begins in it.
	File     string           `json:"-"`
	Location engines.Location `json:"-"`
}

// Given is an object, or the name of a file with objects.
type Given struct {
	File   string
	Object map[string]any
}

// UnmarshalJSON reads a string as the name of a file.
func (g *Given) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, &g.File)
	}
	return json.Unmarshal(text, &g.Object)
}

// MarshalJSON returns the name of the file, or the object.
func (g Given) MarshalJSON() ([]byte, error) {
	if g.File != "" {
		return json.Marshal(g.File)
	}
	return json.Marshal(g.Object)
}

// Check is the name of a check that every case makes.
type Check string

// The checks that every case makes, unless skipChecks names them.
const (
	// CheckSettles is that a pass after the last one of each step writes nothing.
	CheckSettles Check = "Settles"
	// CheckDeterministic is that the same request gets the same answer.
	CheckDeterministic Check = "Deterministic"
	// CheckValid is that schemas accept all that is written, and nothing of it is pruned.
	CheckValid Check = "Valid"
	// CheckDeclared is that answers name only resources that the definition declares.
	CheckDeclared Check = "Declared"
)

// Case is one test. It has either steps, or the fields of one step, or a hook that is called alone.
type Case struct {
	Name string `json:"name"`
	// Skip is the reason why the case is not run.
	Skip string `json:"skip,omitempty"`
	// KnownFailure is the reason why the case fails today. It fails once it passes.
	KnownFailure string `json:"knownFailure,omitempty"`
	// Each makes a case for each entry: ${NAME} in the strings of the case and in the names of its fields is replaced by the entry's
	// value. A string that is one ${NAME} and nothing else becomes the value, whatever its type.
	Each []map[string]any `json:"each,omitempty"`
	// From is where the case begins: after a step of a case above, whose given, definitionPatch, webhooks and skipChecks it has.
	From *From `json:"from,omitempty"`
	// Given are objects beyond the file's.
	Given []Given `json:"given,omitempty"`
	// DefinitionPatch is a merge patch on the definition.
	DefinitionPatch map[string]any `json:"definitionPatch,omitempty"`
	// Webhooks are canned responses, by hook.
	Webhooks   map[string]WebhookResponse `json:"webhooks,omitempty"`
	SkipChecks map[Check]string           `json:"skipChecks,omitempty"`
	// Golden is the file, relative to the test file, with all that happens in the steps, or the whole response of a hook that is called
	// alone. It is written by --update.
	Golden string `json:"golden,omitempty"`
	// Steps are done in turn.
	Steps []Step `json:"steps,omitempty"`
	// Step has the fields of a case with one step.
	Step `json:",inline"`
	// HookCall has the fields of a case that calls a hook alone.
	HookCall `json:",inline"`
	// Explore is about test --explore.
	Explore *Explore `json:"explore,omitempty"`

	// Location is where the case begins.
	Location engines.Location `json:"-"`
	// inherited are the places of the first steps, which are those of another case. single is whether the case has one of its own, whose
	// fields it has.
	inherited []place
	single    bool
	// place returns where a field of the case is, whose path is written like .steps[0].want. Nil without a file.
	place func(field string) engines.Location
}

// Files returns the files that the case names, and that its test does not.
func (c *Case) Files() []string {
	files := []string{c.Golden}
	if c.Request != nil {
		files = append(files, c.Request.File)
	}
	for _, given := range c.Given {
		files = append(files, given.File)
	}
	for _, step := range append(c.Steps, c.Step) {
		if step.Want != nil {
			files = append(files, step.Want.Snapshot)
		}
	}
	return slices.DeleteFunc(files, func(file string) bool { return file == "" })
}

// From names a step of another case.
type From struct {
	// Case is the name of a case above in the same document. What each makes of a case has its full name.
	Case string `json:"case"`
	// Step is the name of the step, which has step. It defaults to the last one.
	Step string `json:"step,omitempty"`
}

// place is where a step is: a field of a case. within is the case's place, or nil.
type place struct {
	within func(field string) engines.Location
	field  string
}

// Explore says how a case is explored.
type Explore struct {
	// Skip is the reason why the case is not explored.
	Skip string `json:"skip,omitempty"`
	// Ignore are parts of the end state that may differ from path to path: status.FIELD of the parents, objects as KIND/NAME and
	// KIND/NAMESPACE/NAME, where * stands for any text, and KIND/NAME:FIELD.
	Ignore []string `json:"ignore,omitempty"`
	// Ends are other end states that are as good. Each is compared as want is.
	Ends []Want `json:"ends,omitempty"`
}

// HookCall calls a hook without a cluster.
type HookCall struct {
	// Hook is the hook's name.
	Hook string `json:"hook,omitempty"`
	// Request is a part of the request, or the name of a YAML file with it, relative to the test file. What every request has is filled in.
	Request *Given `json:"request,omitempty"`
	// Response is a part of the expected response.
	Response any `json:"response,omitempty"`
}

// WebhookResponse is the canned response of a webhook.
type WebhookResponse struct {
	// StatusCode defaults to 200.
	StatusCode int               `json:"statusCode,omitempty"`
	Headers    map[string]string `json:"headers,omitempty"`
	// Body is the response as an object. Text is used as it is.
	Body any    `json:"body,omitempty"`
	Text string `json:"text,omitempty"`
	// Delay is how long the server takes, on the clock of the case.
	Delay *metav1.Duration `json:"delay,omitempty"`
}

// Step changes objects as other clients would, lets time pass, makes passes until nothing changes any more, and compares.
type Step struct {
	// Name is shown in messages.
	StepName string `json:"step,omitempty"`
	// Create are objects that another client creates.
	Create []map[string]any `json:"create,omitempty"`
	// Apply are parts of objects that another client merges into objects. An object that is not there is created. A status is written
	// as status.
	Apply []map[string]any `json:"apply,omitempty"`
	// Patch are patches of another client.
	Patch []Patch `json:"patch,omitempty"`
	// Delete are objects that another client deletes.
	Delete []Deletion `json:"delete,omitempty"`
	// Invalid is a regular expression: the API server refuses each edit of create, apply and patch with an error that matches.
	Invalid string `json:"invalid,omitempty"`
	// Define is a merge patch on the definition, which is applied to it.
	Define map[string]any `json:"define,omitempty"`
	// Restart restarts the host: what it has in memory is lost.
	Restart bool `json:"restart,omitempty"`
	// RestartAfterWrites restarts the host in the middle of a pass, after so many writes of the step. Zero means not at all.
	RestartAfterWrites int `json:"restartAfterWrites,omitempty"`
	// Refuse makes the API server refuse writes of the host. A refusal that no write comes to fails the case.
	Refuse []Refusal `json:"refuse,omitempty"`
	// Delay are resources, by plural name, whose changes the host sees only at the end of the step, like a watch that lags behind.
	Delay []string `json:"delay,omitempty"`
	// Webhooks are canned responses from this step on.
	StepWebhooks map[string]WebhookResponse `json:"respond,omitempty"`
	// After is how much time passes before the passes.
	After *metav1.Duration `json:"after,omitempty"`
	// Ready are the objects that other controllers make ready between the passes: all (the default), none, or names.
	Ready *Selection `json:"ready,omitempty"`
	// NotReady are objects that do not become ready, and stop being so.
	NotReady []ObjectName `json:"notReady,omitempty"`
	// Passes is how many passes are made over each parent. It defaults to as many as change something.
	Passes *int `json:"passes,omitempty"`
	// Parent is the parent that the pass is about, and whose status is compared: the only one by default, or all.
	Parent ObjectName `json:"parent,omitempty"`
	// Fails is a regular expression that the error of the last pass matches.
	Fails string `json:"fails,omitempty"`
	// Want is compared after the passes.
	Want *Want `json:"want,omitempty"`
}

// Selection is all, none, or names of objects.
type Selection struct {
	All   bool
	Names []ObjectName
}

// MarshalJSON returns the selection as a file has it.
func (s Selection) MarshalJSON() ([]byte, error) {
	switch {
	case s.All:
		return json.Marshal("all")
	case len(s.Names) == 0:
		return json.Marshal("none")
	default:
		return json.Marshal(s.Names)
	}
}

// ObjectName names an object as KIND/NAME or KIND/NAMESPACE/NAME. In a file, an object with kind and metadata may stand in its place.
type ObjectName string

// Patch is a patch of another client. Exactly one of Merge and JSON is set.
type Patch struct {
	Object ObjectName       `json:"object"`
	Merge  map[string]any   `json:"merge,omitempty"`
	JSON   []map[string]any `json:"json,omitempty"`
	// Subresource is status, or empty.
	Subresource string `json:"subresource,omitempty"`
}

// Deletion deletes an object. In a file, its name may stand in its place.
type Deletion struct {
	Object            ObjectName                 `json:"object"`
	PropagationPolicy metav1.DeletionPropagation `json:"propagationPolicy,omitempty"`
}

// Refusal makes the API server refuse writes of the host.
type Refusal struct {
	// Verb is create, update, update status, patch, patch status or delete.
	Verb string `json:"verb"`
	// Resource is the plural name.
	Resource string              `json:"resource"`
	Name     string              `json:"name,omitempty"`
	Reason   metav1.StatusReason `json:"reason"`
	// Times defaults to 1.
	Times int `json:"times,omitempty"`
	// Stored makes the API server do the write all the same: only the response is an error, as after a timeout.
	Stored bool `json:"stored,omitempty"`
}

// Want is what is compared after the passes of a step. Objects are parts: fields that are not named do not matter, null means that a field
// is absent, and lists are compared item by item.
type Want struct {
	// Parent is a part of the parent.
	Parent map[string]any `json:"parent,omitempty"`
	// Status is a part of the parent's status.
	Status map[string]any `json:"status,omitempty"`
	// Conditions are those of the parent's status by type: the status alone, or a part of the condition.
	Conditions map[string]any `json:"conditions,omitempty"`
	// Children, Attachments and Outputs are parts of objects that the parent controls. One without a name must match any.
	Children    []map[string]any `json:"children,omitempty"`
	Attachments []map[string]any `json:"attachments,omitempty"`
	Outputs     []map[string]any `json:"outputs,omitempty"`
	// Objects are parts of any objects of the cluster.
	Objects []map[string]any `json:"objects,omitempty"`
	// Absent are parts that no object of the cluster matches.
	Absent []map[string]any `json:"absent,omitempty"`
	// Counts are the numbers of objects that the parent controls, by kind.
	Counts map[string]any `json:"counts,omitempty"`
	// Writes are all writes of the step, in order, status apart: {create: Pod/shop-4}.
	Writes []map[string]ObjectName `json:"writes,omitempty"`
	// Events must have been emitted in the step. The message is a regular expression.
	Events []Event `json:"events,omitempty"`
	// AbsentEvents must not have been emitted in the step.
	AbsentEvents []Event `json:"absentEvents,omitempty"`
	// Logs are regular expressions, each of which a line matches that a hook logged in the step.
	Logs []string `json:"logs,omitempty"`
	// ResyncAfter is the time until the next pass. 0s means that there is none before something changes.
	ResyncAfter *metav1.Duration `json:"resyncAfter,omitempty"`
	// Finalized reports whether the parent is gone.
	Finalized *bool `json:"finalized,omitempty"`
	// Snapshot is the file, relative to the test file, with the status of the parents and with the objects that they control. It is
	// written by --update.
	Snapshot string `json:"snapshot,omitempty"`
	// Waiting is what waits: the names of all children that differ from what the hook wants and were not changed; or {reason, message}, if
	// the last answer of a hook has waiting in place of its list; or none, if none has. The message is a regular expression.
	Waiting *Waiting `json:"waiting,omitempty"`
}

// Waiting is a list of names of children, or what a hook answers in place of its list, or none.
type Waiting struct {
	// Children is nil if they are not compared.
	Children []ObjectName
	// Answer is nil if it is not compared, and empty if no hook waits.
	Answer *WaitingAnswer
}

// WaitingAnswer is a part of why a hook can't say yet what children there should be.
type WaitingAnswer struct {
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// MarshalJSON returns what waits as a file has it.
func (w Waiting) MarshalJSON() ([]byte, error) {
	switch {
	case w.Answer == nil:
		return json.Marshal(w.Children)
	case *w.Answer == WaitingAnswer{}:
		return json.Marshal("none")
	default:
		return json.Marshal(w.Answer)
	}
}

// Event is a part of an event.
type Event struct {
	Type    string `json:"type,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// DefaultNow is the time at which cases begin.
var DefaultNow = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
