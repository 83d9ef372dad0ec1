package controllertest

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
)

// check notes what is wrong with a case beyond types.
func (d *decoder) check(field string, c *Case) {
	d.checkSkips(join(field, "skipChecks"), c.SkipChecks)
	single := !reflect.DeepEqual(c.Step, Step{})
	hook := c.Hook != "" || c.Request != nil || c.Response != nil
	switch {
	case len(c.Steps) > 0 && single && !(reflect.DeepEqual(c.Step, Step{StepWebhooks: c.StepWebhooks})):
		d.failf(field, "%q has steps, and fields of a step beside them: put these into a step", c.Name)
	case hook && len(c.Steps) > 0:
		d.failf(field, "%q calls a hook alone, and has no steps: make two cases of it", c.Name)
	case hook && c.Hook == "":
		d.failf(field, "%q has a request or a response, and names no hook", c.Name)
	case hook && c.Response == nil && c.Fails == "" && c.Golden == "":
		d.failf(field, "%q calls a hook, and expects nothing: give response, golden or fails", c.Name)
	case hook && !reflect.DeepEqual(c.Step, Step{Fails: c.Fails}):
		d.failf(field, "%q calls a hook alone: of the fields of a step it can have fails", c.Name)
	}
	if len(c.Steps) > maxSteps {
		d.failf(join(field, "steps"), "%d steps, and %d are the most: make several cases of it", len(c.Steps), maxSteps)
		return
	}
	if len(c.Steps) == 0 {
		d.checkStep(field, &c.Step)
	}
	for i := range c.Steps {
		d.checkStep(fmt.Sprintf("%s.steps[%d]", field, i), &c.Steps[i])
	}
	d.checkResponses(join(field, "webhooks"), c.Webhooks)
	if c.Explore != nil {
		for i := range c.Explore.Ends {
			d.checkWant(fmt.Sprintf("%s.ends[%d]", join(field, "explore"), i), &c.Explore.Ends[i])
		}
	}
}

func (d *decoder) checkSkips(field string, skips map[Check]string) {
	all := []string{string(CheckSettles), string(CheckDeterministic), string(CheckValid), string(CheckDeclared)}
	for _, check := range slices.Sorted(maps.Keys(skips)) {
		at := join(field, string(check))
		if !slices.Contains(all, string(check)) {
			d.unknown(field, string(check), all)
		} else if strings.TrimSpace(skips[check]) == "" {
			d.failf(at, "skipChecks.%s needs a reason", check)
		}
	}
}

// checkDefinitions checks the definitions that each case is run for.
func (d *decoder) checkDefinitions(test *ControllerTest) {
	if test.Definition != "" && len(test.Definitions) > 0 {
		d.failf("definition", "definition and definitions exclude each other: put all into definitions")
	}
	for i, definition := range test.Definitions {
		if at := fmt.Sprintf("definitions[%d]", i); definition == "" || slices.Contains(test.Definitions[:i], definition) {
			d.failf(at, "%s is %q: each is a file or folder of its own", at, definition)
		}
	}
}

// verbs are those of refusals.
var verbs = []string{
	string(memcluster.Create), string(memcluster.Update), string(memcluster.UpdateStatus), string(memcluster.Patch),
	string(memcluster.PatchStatus), string(memcluster.Delete),
}

// policies are those of deletions.
var policies = []metav1.DeletionPropagation{
	"", metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan,
}

func (d *decoder) checkStep(field string, s *Step) {
	if s.Passes != nil && (*s.Passes < 0 || *s.Passes > maxPasses) {
		d.failf(join(field, "passes"), "passes is %d, and must be 0 to %d", *s.Passes, maxPasses)
	}
	if s.RestartAfterWrites < 0 {
		d.failf(join(field, "restartAfterWrites"), "restartAfterWrites is %d, and must be 1 or more", s.RestartAfterWrites)
	}
	d.checkPattern(join(field, "fails"), s.Fails)
	d.checkPattern(join(field, "invalid"), s.Invalid)
	if s.Invalid != "" && len(s.Create)+len(s.Apply)+len(s.Patch) == 0 {
		d.failf(join(field, "invalid"), "invalid is about the edits of a step, and there is none: add create, apply or patch")
	}
	for i, patch := range s.Patch {
		at := fmt.Sprintf("%s[%d]", join(field, "patch"), i)
		if patch.Object == "" || (patch.Merge == nil) == (patch.JSON == nil) {
			d.failf(at, "a patch needs object, and one of merge and json")
		}
		if patch.Subresource != "" && patch.Subresource != "status" {
			d.failf(join(at, "subresource"), "subresource is %q, and can only be status", patch.Subresource)
		}
	}
	for i, deletion := range s.Delete {
		if deletion.Object == "" {
			d.failf(fmt.Sprintf("%s[%d]", join(field, "delete"), i), "a deletion needs object")
		}
		if !slices.Contains(policies, deletion.PropagationPolicy) {
			d.failf(fmt.Sprintf("%s[%d].propagationPolicy", join(field, "delete"), i),
				"propagationPolicy is %q, and must be Background, Foreground or Orphan", deletion.PropagationPolicy)
		}
	}
	for i, refusal := range s.Refuse {
		at := fmt.Sprintf("%s[%d]", join(field, "refuse"), i)
		if !slices.Contains(verbs, refusal.Verb) {
			d.failf(at, "verb is %q, and must be one of %s", refusal.Verb, strings.Join(verbs, ", "))
		}
		if refusal.Resource == "" || refusal.Reason == "" || refusal.Times < 0 {
			d.failf(at, "a refusal needs resource, the plural name, and reason, such as Forbidden, Conflict or Invalid")
		} else if !slices.Contains(memcluster.RefusalReasons, refusal.Reason) {
			d.failf(join(at, "reason"), "reason is %q, and must be one of %s", refusal.Reason, listed(memcluster.RefusalReasons))
		}
	}
	d.checkResponses(join(field, "respond"), s.StepWebhooks)
	if s.Want != nil {
		d.checkWant(join(field, "want"), s.Want)
	}
}

func (d *decoder) checkWant(field string, w *Want) {
	for i, write := range w.Writes {
		_, creates := write["create"]
		_, updates := write["update"]
		_, deletes := write["delete"]
		if len(write) != 1 || !creates && !updates && !deletes {
			d.failf(fmt.Sprintf("%s.writes[%d]", field, i), "a write is create, update or delete, and the name of an object, as in create: Pod/a")
		}
	}
	for i, event := range w.Events {
		d.checkPattern(fmt.Sprintf("%s.events[%d].message", field, i), event.Message)
	}
	for i, event := range w.AbsentEvents {
		d.checkPattern(fmt.Sprintf("%s.absentEvents[%d].message", field, i), event.Message)
	}
	if w.Waiting != nil && w.Waiting.Answer != nil {
		d.checkPattern(join(field, "waiting.message"), w.Waiting.Answer.Message)
	}
	for i, line := range w.Logs {
		d.checkPattern(fmt.Sprintf("%s.logs[%d]", field, i), line)
	}
	for _, kind := range slices.Sorted(maps.Keys(w.Counts)) {
		if n, ok := w.Counts[kind].(int64); !ok || n < 0 {
			d.failf(join(join(field, "counts"), kind), "counts.%s must be a whole number", kind)
		}
	}
	for name, parts := range map[string][]map[string]any{
		"children": w.Children, "attachments": w.Attachments, "outputs": w.Outputs, "objects": w.Objects, "absent": w.Absent,
	} {
		if parts != nil && len(parts) == 0 {
			d.failf(join(field, name), "%s is empty, and compares nothing: that there are none is counts: {KIND: 0} or absent", name)
		}
		for i, part := range parts {
			if kind, _ := part["kind"].(string); kind == "" {
				d.failf(fmt.Sprintf("%s.%s[%d]", field, name, i), "%s[%d] has no kind", name, i)
			}
		}
	}
}

// maxPattern is how long a regular expression may be.
const maxPattern = 10_000

func (d *decoder) checkPattern(field, pattern string) {
	if len(pattern) > maxPattern {
		d.failf(field, "%s is a regular expression of %d characters, and %d are the most", shortField(field), len(pattern), maxPattern)
		return
	}
	if _, err := regexp.Compile(pattern); err != nil {
		d.failf(field, "%s is no regular expression: %v", shortField(field), err)
	}
}

func (d *decoder) checkResponses(field string, responses map[string]WebhookResponse) {
	for _, hook := range slices.Sorted(maps.Keys(responses)) {
		r, at := responses[hook], join(field, hook)
		if r.Body != nil && r.Text != "" {
			d.failf(at, "a response has either body or text")
		}
		if r.StatusCode != 0 && (r.StatusCode < 200 || r.StatusCode > 599) {
			d.failf(join(at, "statusCode"), "statusCode is %d, and must be 200 to 599", r.StatusCode)
		}
	}
}
