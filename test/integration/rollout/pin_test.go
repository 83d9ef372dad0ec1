package rollout_test

import (
	"testing"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/test/env"
)

// Texts that do not take over.
const (
	broken = "export function sync( {\n"
	lost   = "export function sync() { return {children: []}; }\n"
	// noSteps is a rollout without a pin.
	noSteps = "{paused: false}"
)

// TestUnpin takes a pin away while the sources hold each kind of text. What they do not hold never comes back.
func TestUnpin(t *testing.T) {
	t.Parallel()
	for mode, m := range map[string]struct {
		steps string
		// down is set if no host runs while the pin is taken away.
		down bool
	}{
		"at once": {steps: "paused: false"}, "by steps": {steps: "steps: [{parents: 2}]"}, "while no host runs": {steps: "paused: false", down: true},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, 4, "{"+m.steps+"}")
			first := s.waitForServing()
			s.edit("two", "")
			second := s.waitForServingOf(func(revision string) bool { return revision != first })
			for _, c := range []struct {
				text string
				// pinned is in the message of the pin. In the end want serves, and reason is that of ScriptsReady.
				pinned, want, reason string
			}{
				{"another", "to let it take over", "three", "Loaded: "},
				{"the same", "the scripts hold it too", "one", "Loaded: "},
				{"not edited", "to let it take over", "two", "Loaded: "},
				{"held", "is held: it would delete", "one", "Held: "},
				{"broken", "does not load: ", "one", "ScriptInvalid: "},
			} {
				s.edit("two", "")
				s.waitForValues(map[string]int{"two": 4})
				s.waitForServingOf(func(revision string) bool { return revision == second })
				s.define("{revision: " + first[:16] + ", " + m.steps + "}")
				s.waitForValues(map[string]int{"one": 4})
				s.WaitForCondition(s.definition, "Progressing", "True", "Pinned: ", "revision "+first[:16]+" serves all parents",
					"the scripts hold revision "+second[:16])
				switch c.text {
				case "another":
					s.edit("three", "")
				case "the same":
					s.edit("one", "")
				case "held":
					s.write(lost)
				case "broken":
					s.write(broken)
				}
				s.WaitForCondition(s.definition, "Progressing", "True", "Pinned: ", c.pinned, "libretto rollback compositecontroller/")
				r := s.record()
				if m.down {
					s.Kill()
				}
				s.define("{" + m.steps + "}")
				if m.down {
					s.start()
				}
				s.waitForValues(map[string]int{c.want: 4})
				s.WaitForConditionOf(env.Composite, s.definition, "ScriptsReady", map[bool]string{true: "False", false: "True"}[c.text == "broken"], c.reason)
				s.WaitForQuiet()
				s.waitForValues(map[string]int{c.want: 4})
				r.check(t, "one", c.want)
				if t.Failed() {
					t.Fatalf("%s:\n%s", c.text, s.describe())
				}
			}
		})
	}
}

// TestUnpinBeforeText takes a pin away just before the corrected text is written, as kubectl apply does with both: the text between never comes back.
func TestUnpinBeforeText(t *testing.T) {
	t.Parallel()
	s := newScene(t, 4, noSteps)
	first := s.waitForServing()
	s.edit("two", "")
	s.waitForValues(map[string]int{"two": 4})
	s.define("{revision: " + first + "}")
	s.waitForValues(map[string]int{"one": 4})
	s.WaitForCondition(s.definition, "Progressing", "True", "Pinned: ")
	s.WaitForQuiet()
	r := s.record()
	s.define(noSteps)
	s.edit("three", "")
	s.waitForValues(map[string]int{"three": 4})
	r.check(t, "one", "three")
}

// TestPinWhileBroken pins a revision while the sources hold a text that does not load, or that is held: that needs nothing of them.
func TestPinWhileBroken(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"held": lost, "broken": broken} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, 4, noSteps)
			first := s.waitForServing()
			s.edit("two", "")
			s.waitForValues(map[string]int{"two": 4})
			s.write(text)
			s.WaitForCondition(s.definition, "ScriptsReady", map[string]string{"held": "True", "broken": "False"}[name], "goes on serving")
			r := s.record()
			s.define("{revision: " + first + "}")
			s.waitForValues(map[string]int{"one": 4})
			s.WaitForCondition(s.definition, "Ready", "True", "Running")
			r.check(t, "one", "two")
		})
	}
}

// TestPauseInRefusedSpec pauses and pins in edits of the definition whose other parts can't take over: an emergency does not wait.
func TestPauseInRefusedSpec(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, bad, condition, status, reason string }{
		"refused": {"resource: configmaps", "resource: nothings", "Accepted", "False", "ResourceNotFound"},
		"no file": {"path: sync.js", "path: gone.js", "ScriptsReady", "False", "gone.js"},
		"held":    {"path: sync.js", `engine: JavaScript, inline: "export function sync() { return {children: []}; }"`, "Progressing", "False", "Held"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, 4, "{steps: [{parents: 1, pauseSeconds: 600}]}")
			first := s.waitForServing()
			s.edit("two", "")
			s.waitForValues(map[string]int{"one": 3, "two": 1})
			s.WaitForCondition(s.definition, "Progressing", "True", "RollingOut", "its pause began")
			r := s.record()
			define := func(rollout string) { s.Apply(replace(s.text(rollout), c.old, c.bad)) }
			define("{steps: [{parents: 1}], paused: true}")
			s.WaitForCondition(s.definition, c.condition, c.status, c.reason)
			s.waitForPhase(v1alpha1.ScriptsPaused)
			s.waitForValues(map[string]int{"one": 3, "two": 1})
			define("{revision: " + first + "}")
			s.waitForValues(map[string]int{"one": 4})
			r.check(t, "one", "two")
		})
	}
}

// TestPinToNothing pins a revision that is not archived: what serves goes on, over a restart, and edits wait.
func TestPinToNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t, 4, noSteps)
	first := s.waitForServing()
	r := s.record()
	s.define("{revision: 0123456789abcdef}")
	wants := []string{
		"RevisionUnavailable: ", "spec.scriptRollout.revision: revision 0123456789abcdef can't be had: ", "no such revision",
		"revision " + first[:16] + " goes on serving", "--unpin",
	}
	s.WaitForCondition(s.definition, "Progressing", "False", wants...)
	s.WaitForCondition(s.definition, "ScriptsReady", "True", wants...)
	s.edit("two", "")
	s.Restart()
	s.WaitForCondition(s.definition, "Progressing", "False", wants...)
	s.waitForValues(map[string]int{"one": 4})
	r.check(t, "one")
	s.define(noSteps)
	s.waitForValues(map[string]int{"two": 4})
	s.WaitForCondition(s.definition, "Progressing", "True", "Serving: ")
}
