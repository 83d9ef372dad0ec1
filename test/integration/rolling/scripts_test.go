package rolling

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/env"
)

// scriptStep is an event, and the versions of the children that result from it. A version is that of the parent's template and the text that made
// the child: "v1" by the first text, "v1c" by the text c.
type scriptStep struct{ event, versions string }

// scriptScenarios begin with three ready children of v1, and end with all of the last version. Events are: text, the other texts' letter;
// parent, the template's version; ready, the number of a child; kill and start of libretto, which may be replaced in between.
var scriptScenarios = []struct {
	name  string
	steps []scriptStep
	// updates are how many times each child is updated in all. Where both were edited while libretto was down it depends on the preview of
	// the text whether the first child is updated for each: then they are not counted.
	updates []int
	counted bool
}{
	{"one-by-one", []scriptStep{
		{"text c", "v1c v1 v1"}, {"ready 0", "v1c v1c v1"}, {"ready 1", "v1c v1c v1c"},
	}, []int{1, 1, 1}, true},
	{"same-answer", []scriptStep{{"text //", "v1 v1 v1"}}, nil, true},
	{"script-then-parent", []scriptStep{
		{"text c", "v1c v1 v1"}, {"ready 0", "v1c v1c v1"}, {"parent v2", "v1c v2c v1"}, {"ready 1", "v2c v2c v1"},
	}, []int{2, 2, 1}, true},
	{"parent-then-script", []scriptStep{
		{"parent v2", "v2 v1 v1"}, {"ready 0", "v2 v2 v1"}, {"text c", "v2 v2c v1"}, {"ready 1", "v2c v2c v1"},
	}, []int{2, 2, 1}, true},
	{"twice", []scriptStep{
		{"text c", "v1c v1 v1"}, {"ready 0", "v1c v1c v1"}, {"text d", "v1c v1d v1"}, {"ready 1", "v1d v1d v1"},
	}, []int{2, 2, 1}, true},
	{"parent-twice", []scriptStep{
		{"text c", "v1c v1 v1"}, {"parent v2", "v2c v1 v1"}, {"parent v3", "v3c v1 v1"},
	}, []int{3, 1, 1}, true},
	{"back", []scriptStep{
		{"text c", "v1c v1 v1"}, {"ready 0", "v1c v1c v1"}, {"text", "v1c v1 v1"},
	}, []int{2, 2}, true},
	{"back-with-parent", []scriptStep{
		{"text c", "v1c v1 v1"}, {"parent v2", "v2c v1 v1"}, {"text", "v2 v1 v1"}, {"parent v1", "v1 v1 v1"},
	}, []int{4}, true},
	{"killed", []scriptStep{
		{"text c", "v1c v1 v1"}, {"kill", ""}, {"ready 0", "v1c v1 v1"}, {"start", "v1c v1c v1"},
	}, []int{1, 1, 1}, true},
	{"parent-edited-while-down", []scriptStep{
		{"text c", "v1c v1 v1"}, {"kill", ""}, {"parent v2", "v1c v1 v1"}, {"start", "v2c v1 v1"},
	}, []int{2, 1, 1}, true},
	{"edited-while-down", []scriptStep{
		{"kill", ""}, {"text c", "v1 v1 v1"}, {"start", "v1c v1 v1"},
	}, []int{1, 1, 1}, true},
	{"both-edited-while-down", []scriptStep{
		{"kill", ""}, {"text c", ""}, {"parent v2", "v1 v1 v1"}, {"start", "v2c v1 v1"},
	}, nil, false},
	{"back-while-down", []scriptStep{
		{"text c", "v1c v1 v1"}, {"kill", ""}, {"text", "v1c v1 v1"}, {"start", "v1 v1 v1"},
	}, []int{2}, true},
}

// TestScriptMatrix goes through edits of parents and scripts.
func TestScriptMatrix(t *testing.T) {
	e := newEnv(t)
	for _, method := range []string{recreate, inPlace} {
		t.Run(strings.ToLower(method), func(t *testing.T) {
			d := defineWithText(e.WithT(t), "s"+strings.ToLower(method)[7:8], cell{method: method}, settings{})
			for _, scenario := range scriptScenarios {
				t.Run(scenario.name, func(t *testing.T) {
					d := d.in(t)
					d.setText("")
					c := d.newReadyParent(scenario.name, 3)
					j := c.recordWrites()
					for _, step := range scenario.steps {
						c.play(step)
					}
					c.finishScripts()
					if scenario.counted {
						j.expectUpdates(scenario.updates...)
					}
					j.expectUnavailable(1)
					c.expectQuiet()
				})
			}
		})
	}
}

// TestScriptsAfterMetacontroller edits the script before libretto first sees a parent that metacontroller has left in the middle of a rollout.
func TestScriptsAfterMetacontroller(t *testing.T) {
	e := newEnv(t)
	for _, method := range []string{recreate, inPlace} {
		t.Run(strings.ToLower(method), func(t *testing.T) {
			d := defineWithText(e.WithT(t), "m"+strings.ToLower(method)[7:8], cell{method: method}, settings{})
			d.Kill()
			c := d.createLegacy("middle", "", "v2", "v1", "v1")
			over := d.createLegacy("over", "", "v2", "v2", "v2")
			c.legacy, over.legacy = false, false
			j, untouched := c.recordWrites(), over.recordWrites()
			start(d.Env)
			d.WaitForCondition(d.name, "Ready", "True")
			c.waitForVersions("v2", "v2", "v1")
			over.waitForRollout()
			untouched.expectUpdates()
			c.play(scriptStep{"text c", "v2 v2c v1"})
			c.play(scriptStep{"ready 1", "v2c v2c v1"})
			c.finishScripts()
			j.expectUpdates(1, 2, 1)
			j.expectUnavailable(1)
		})
	}
}

// defineWithText is define for a definition whose script is in a ConfigMap, and whose edits are rolled out.
func defineWithText(e *env.Env, suffix string, c cell, more settings) *definition {
	e.T.Helper()
	d := &definition{Env: e, cell: c, settings: more, name: e.Namespace + "-" + suffix, suffix: suffix}
	d.rollingScripts = true
	d.settings.spec = fmt.Sprintf("scriptSources: [{configMap: {namespace: %s, name: text-%s}}]", e.Namespace, suffix)
	d.applyText("")
	d.set(more.strategy)
	return d
}

// applyText writes a text, whose children have its letter after their version. The letter // makes the children that the first text makes.
func (d *definition) applyText(letter string) {
	d.T.Helper()
	text := strings.Replace(script(d.Env, d.cell), "version: template.version,", fmt.Sprintf("version: template.version + %q,", letter), 1)
	if letter == "//" {
		text = "// This comment is new.\n" + script(d.Env, d.cell)
	}
	d.Apply(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: text-%s}, data: {sync.js: %s}}", d.suffix, env.Quote(text)))
}

// setText writes a text and waits until it is in force.
func (d *definition) setText(letter string) {
	d.T.Helper()
	before, text := d.scriptRevision(), d.text()
	d.applyText(letter)
	if d.text() == text {
		return
	}
	d.Eventually(func() error {
		if d.scriptRevision() == before {
			return fmt.Errorf("revision %s is still in force", before)
		}
		return nil
	})
}

func (d *definition) text() string {
	d.T.Helper()
	text, _, _ := unstructured.NestedString(d.WaitFor(configMaps, "text-"+d.suffix, nil).Object, "data", "sync.js")
	return text
}

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// scriptRevision returns the whole ID of the text in force.
func (d *definition) scriptRevision() string {
	d.T.Helper()
	live := d.ClusterScope().WaitFor(env.CompositeControllers, d.name, nil)
	id, _, _ := unstructured.NestedString(live.Object, "status", "scriptRevisionHash")
	return id
}

// play makes an event happen and waits for the versions of the children.
func (c *parent) play(step scriptStep) {
	c.T.Helper()
	verb, what, _ := strings.Cut(step.event, " ")
	switch verb {
	case "text":
		c.applyText(what)
		c.text = strings.Trim(what, "/")
	case "parent":
		c.updateVersion(what)
	case "ready":
		c.Eventually(func() error {
			var n int
			if _, err := fmt.Sscan(what, &n); err != nil {
				return err
			}
			return c.patchReady(c.child(n), "True", readyManager)
		})
	case "kill":
		c.Kill()
	case "start":
		start(c.Env)
	default:
		c.T.Fatalf("no event %q", step.event)
	}
	if step.versions != "" {
		c.waitForVersions(strings.Fields(step.versions)...)
	}
}

// finishScripts sets children ready until all are of the last version and the rollout is complete.
func (c *parent) finishScripts() {
	c.T.Helper()
	c.Eventually(func() error {
		c.setAllReady()
		if err := c.checkVersions(slices.Repeat([]string{c.spec.version + c.text}, c.spec.count)...); err != nil {
			return err
		}
		return errors.Join(c.checkClaims(), c.checkCompleted())
	})
}
