package edits

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// state is one in which an edit is when its host is interrupted: what the condition Progressing says then.
type state struct {
	row
	status, reason, part string
}

// second is a hook that gives children a mark, and does something else once it sees that: no preview knows a second pass.
func second(then string) []string {
	return []string{"({parent, related}) => ({children: children(parent)})", `({parent, ...request}) => {
      if (Object.values(request.children["ConfigMap.v1"]).some((child) => child.data.value === "mark-ROUND")) ` + then + `;
      return {children: children(parent).map((child) => ({...child, data: {value: "mark-ROUND"}}))};
    }`}
}

const pause = "spec:\n  scriptRollout: {steps: [{parents: 1, pauseSeconds: 600}]}\n"

// states are those of an edit. The last two are left by themselves, so that they come last.
var states = []state{
	{row{name: "held", kind: c, edit: []string{kids, "[] /* ROUND */"}}, "False", "Held", lost},
	{row{name: "step", kind: c, with: []string{set, steps}, edit: []string{"children: children(parent)});",
		`waiting: {reason: "NoLicence", message: "no licence in round ROUND"}});`}}, "True", "RollingOut", "it waits since"},
	{row{name: "paused", kind: c, with: []string{set, pause}, edit: []string{one, `"two-ROUND"`}}, "True", "RollingOut", "its pause began"},
	{row{name: "back", kind: c, with: []string{set, pause}, edit: second(`throw new Error("no")`)}, "False", "RolledBack", "fails"},
	{row{name: "exceeded", kind: c, edit: second(
		`return {children: children(parent).map((child) => ({...child, metadata: {name: child.metadata.name + "-x"}}))}`)},
		"False", "RolledBack", "no more are deleted"},
	{row{name: "approved", kind: c, edit: []string{kids, "[] /* approved in ROUND */"}}, "False", "Held", lost},
	{row{name: "previewing", kind: c, with: []string{set, limit, script, "script: {path: hooks.js, timeout: 30s}}"},
		edit: []string{kids, "(() => { for (let i = 0; i < 3e7; i++); return []; /* ROUND */ })()"}}, "True", "Previewing", ""},
}

// TestInterrupted interrupts hosts while edits are in all states: kill -9, a change of leader, and a leader that is stopped until another
// one leads. Each edit stays where it was, or goes on, and no child is lost beyond the limits. LIBRETTO_HOSTILE=long does so ten times.
func TestInterrupted(t *testing.T) {
	var rows []row
	for _, st := range states {
		rows = append(rows, st.row)
	}
	s := newScene(t, rows)
	s.trials["previewing"].parents = 2 // Each takes seconds.
	s.each("first texts", func(e *env.Env, tr *trial) { s.create(e, tr) })
	hosts := []*cluster.Libretto{s.host(), s.host()}
	s.waitForChildren()
	times := 1
	if os.Getenv("LIBRETTO_HOSTILE") == "long" {
		times = 10
	}
	for range times {
		for _, way := range []string{"kill -9", "a change of leader", "SIGSTOP"} {
			s.round++
			t.Run(fmt.Sprintf("%s in round %d", way, s.round), func(t *testing.T) {
				own := *s
				own.Env = s.WithT(t)
				own.interrupt(way, hosts)
			})
			if t.Failed() {
				return
			}
			hosts = []*cluster.Libretto{hosts[1], s.host()}
		}
	}
}

// host starts a host that leads once no other one does.
func (s *scene) host() *cluster.Libretto {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), env.Timeout)
	defer cancel()
	host, err := s.Cluster.StartLibretto(ctx,
		"-v=1", "--leader-elect", "--leader-elect-resource-namespace="+s.Namespace, "--namespace="+s.Namespace)
	s.NoError(err)
	s.T.Cleanup(func() {
		_ = host.Kill() // It may have ended.
		if s.T.Failed() {
			s.T.Logf("a host's log:\n%s", host.Log())
		}
	})
	return host
}

// interrupt brings an edit into each state, interrupts the first host, which leads, and compares the results in the other one.
func (s *scene) interrupt(way string, hosts []*cluster.Libretto) {
	s.T.Helper()
	s.mu.Lock()
	clear(s.deleted)
	for _, o := range s.List(env.ConfigMaps, "") {
		s.known[o.GetUID()] = true
	}
	s.mu.Unlock()
	s.note()
	before := map[string]v1alpha1.ScriptRolloutStatus{}
	last := len(states) - 1
	for _, all := range [][]state{states[:last], states[last:]} { // A preview ends soon.
		for _, st := range all {
			tr := s.trials[st.name]
			s.apply(s.Env, tr, "", s.text(tr.before, st.edit))
		}
		for _, st := range all {
			before[st.name] = s.waitForState(st)
		}
	}
	held := before["approved"].HeldRevision
	s.PatchDefinition(c, "approved", fmt.Sprintf(`{"metadata": {"annotations": {%q: %q}}}`, v1alpha1.ApprovedRevisionAnnotation, held))
	s.end(way, hosts[0])
	for _, st := range states {
		s.checkState(st, before[st.name])
	}
	s.WaitForQuiet()
	for _, st := range states {
		tr := s.trials[st.name]
		if tr.asked = st.name == "approved"; !tr.asked {
			s.checkLost(s.Env, tr)
		}
		s.apply(s.Env, tr, "", s.text(strings.Replace(tr.before, ", pauseSeconds: 600", "", 1), []string{one, `"good-ROUND"`}))
	}
	s.Eventually(func() error { // Correct texts take over in any state.
		for _, o := range s.List(env.ConfigMaps, "") {
			value, isChild, _ := unstructured.NestedString(o.Object, "data", "value")
			if want := fmt.Sprintf("good-%d", s.round); isChild && value != want {
				return fmt.Errorf("%s has the value %s, want %s:\n%s", o.GetName(), value, want, s.definitions()[rowOf(o.GetName())])
			}
		}
		return nil
	})
	s.waitForChildren()
}

// previewed is a time in which previews of scripts that compute for seconds end, beside hosts of other tests.
const previewed = 4 * env.Timeout

// waitForState waits until an edit is in a state.
func (s *scene) waitForState(st state) v1alpha1.ScriptRolloutStatus {
	s.T.Helper()
	var stored v1alpha1.ScriptRolloutStatus
	cluster.Eventually(s.T, previewed, func() error {
		d := s.definitions()[st.name]
		if d.status.ScriptRollout != nil {
			stored = *d.status.ScriptRollout
		}
		if err := env.CheckCondition(d.condition("Progressing"), st.status, st.reason, st.part); err != nil {
			return fmt.Errorf("%w\n%s", err, d)
		}
		return nil
	})
	return stored
}

// end ends the leadership of a host.
func (s *scene) end(way string, host *cluster.Libretto) {
	s.T.Helper()
	leases := s.In(schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"})
	expire := func() { // The other one would wait for the end of the lease.
		s.NoError(leases.DeleteCollection(s.T.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	}
	switch way {
	case "kill -9":
		s.NoError(host.Kill())
		expire()
	case "a change of leader":
		s.NoError(host.Stop())
	default:
		s.NoError(host.Signal(syscall.SIGSTOP))
		expire()
		s.Eventually(func() error {
			list, err := leases.List(s.T.Context(), metav1.ListOptions{})
			if err == nil && len(list.Items) == 0 {
				err = errors.New("nobody leads")
			}
			return err
		})
		s.NoError(host.Signal(syscall.SIGCONT))
		s.Eventually(func() error {
			if !host.Ended() {
				return errors.New("the first leader still runs")
			}
			return nil
		})
	}
}

// checkState checks where an edit is after its host was interrupted.
func (s *scene) checkState(st state, before v1alpha1.ScriptRolloutStatus) {
	s.T.Helper()
	switch st.name {
	case "previewing":
		st.status, st.reason, st.part = "False", "Held", lost
		s.waitForState(st)
	case "approved":
		s.Eventually(func() error {
			if n := countOf(s.observe()[st.name]); n > 0 {
				return fmt.Errorf("%d children are left:\n%s", n, s.definitions()[st.name])
			}
			return nil
		})
	default:
		after := s.waitForState(st)
		for _, stored := range []*v1alpha1.ScriptRolloutStatus{&before, &after} { // What a look at the parents tells.
			stored.Parents, stored.UpdatedParents, stored.UnreadyParents, stored.FailingParents = nil, nil, nil, nil
		}
		if diff := cmp.Diff(before, after); diff != "" {
			s.T.Errorf("%s goes on otherwise: -before +after\n%s", st.name, diff)
		}
	}
}
