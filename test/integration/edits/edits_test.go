// Package edits makes many edits of definitions on the real API server, and compares what libretto diff says of each with what a host does.
package edits

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// patience is how long the host may take for all edits together.
const patience = 90 * time.Second

// trial is a row, and its results.
type trial struct {
	row
	parents int
	// before, between and after are the documents of the definition and its scripts. revision is that of before.
	before, between, after string
	revision               string
	// said is what diff says, and verdict what the host does.
	said    document
	verdict verdict
	// children are those that there were, by kind, and objects all that there was before the edit.
	children map[string]int
	objects  map[string]object
	changes  string
	lost     int
	// stopped is what is said once the guard has stopped it.
	stopped string
}

// document is what diff says of a definition.
type document struct {
	Definition, Error string
	Changes           []struct {
		Action, Kind string
		Objects      []string
	}
	Edit rollout.Verdict
}

// verdict is what the host says of an edit.
type verdict struct {
	held bool
	text string
}

// scene is a host with all trials.
type scene struct {
	*env.Env
	trials map[string]*trial
	hooks  *webhooks
	round  int
	*losses
}

// losses are the children that have been deleted, of those that there were before the edits.
type losses struct {
	mu      sync.Mutex
	known   map[types.UID]bool        // those that there were
	noted   bool                      // these are all
	deleted map[string]map[string]int // by row and kind
}

// TestEdits makes all edits at once in one host. LIBRETTO_EDITS is a regular expression of names, for some of them, and LIBRETTO_SEED
// chooses how many parents each has.
func TestEdits(t *testing.T) {
	if len(accidents) < 40 || len(honest) < 40 {
		t.Fatalf("%d accidents and %d honest edits, want 40 each", len(accidents), len(honest))
	}
	s := newScene(t, slices.Concat(accidents, honest))
	s.begin()
	s.finishTexts()
	s.diff()
	s.note()
	s.editAll("edits", func(tr *trial) (string, string) { return cmp.Or(tr.between, tr.before), tr.after })
	s.each("verdicts", func(e *env.Env, tr *trial) { s.check(e, tr) })
	s.approve()
	s.compare()
	s.touchAll("later touches", func(tr *trial) []touch { return tr.then })
	s.each("guard", func(e *env.Env, tr *trial) { s.checkGuard(e, tr) })
	s.report()
	held := slices.DeleteFunc(slices.Clone(honest), func(r row) bool { return s.trials[r.name] == nil || !s.trials[r.name].verdict.held })
	if len(held) > 4 {
		t.Errorf("%d of %d honest edits are held", len(held), len(honest))
	}
}

// TestGuardAlone makes the accidents in a host that previews nothing.
func TestGuardAlone(t *testing.T) {
	s := newScene(t, accidents)
	s.begin("--script-preview=false")
	s.finishTexts()
	s.note()
	s.each("edits", func(e *env.Env, tr *trial) { s.apply(e, tr, cmp.Or(tr.between, tr.before), tr.after) })
	s.WaitForQuiet()
	s.touchAll("later touches", func(tr *trial) []touch { return tr.then })
	s.each("guard", func(e *env.Env, tr *trial) { s.checkLost(e, tr) })
}

// newScene returns a scene with the trials of a seed.
func newScene(t *testing.T, rows []row) *scene {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("LIBRETTO_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	t.Logf("LIBRETTO_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	e := env.NewWithThings(t)
	e.Apply(env.CRD(e.Group, "Gizmo", "Namespaced"))
	losses := &losses{known: map[types.UID]bool{}, deleted: map[string]map[string]int{}}
	s := &scene{Env: e, trials: map[string]*trial{}, hooks: newWebhooks(t), losses: losses}
	only := os.Getenv("LIBRETTO_EDITS")
	for _, r := range rows {
		tr := &trial{row: r, parents: 2 + random.IntN(3)}
		if s.trials[r.name] != nil {
			t.Fatalf("two rows are named %s", r.name)
		}
		if only == "" || regexp.MustCompile(only).MatchString(r.name) {
			s.trials[r.name] = tr
		}
		tr.before = s.text(templates[r.kind], hooksOf(r), r.with)
	}
	for _, resource := range []schema.GroupVersionResource{env.ConfigMaps, env.Secrets, env.Deployments} {
		stream, err := e.In(resource).Watch(t.Context(), metav1.ListOptions{})
		e.NoError(err)
		t.Cleanup(stream.Stop)
		go losses.count(stream)
	}
	t.Cleanup(func() {
		for _, tr := range s.trials {
			e.Delete(env.Definitions(tr.kind), "", tr.name)
		}
	})
	return s
}

// hooksOf returns the pairs that add the other hooks of a row.
func hooksOf(r row) []string {
	var pairs []string
	for name := range strings.FieldsSeq(r.hooks) {
		version := "version: v2, "
		if r.kind == m {
			version = ""
		}
		pairs = append(pairs, "  hooks:\n", fmt.Sprintf("  hooks:\n    %s: {%sscript: {path: hooks.js}}\n", name, version))
	}
	return pairs
}

// text replaces pairs in a text.
func (s *scene) text(text string, all ...[]string) string {
	s.T.Helper()
	for _, pairs := range all {
		for ; len(pairs) > 0; pairs = pairs[2:] {
			if !strings.Contains(text, pairs[0]) {
				s.T.Fatalf("no %q in:\n%s", pairs[0], text)
			}
			text = strings.ReplaceAll(text, pairs[0], pairs[1])
		}
	}
	return text
}

// finish returns documents with what is known of a trial by now.
func (s *scene) finish(tr *trial, text string) string {
	return strings.NewReplacer("ROW", tr.name, "NS", s.Namespace, "GROUP", s.Group, "HOOK", s.hooks.URL, "FIRST", tr.revision,
		"ROUND", fmt.Sprint(s.round)).Replace(text)
}

// finishTexts makes the documents of the edits.
func (s *scene) finishTexts() {
	s.T.Helper()
	for _, tr := range s.trials {
		tr.after = s.text(cmp.Or(tr.between, tr.before), tr.edit)
	}
}

// each does something with each trial, at the same time.
func (s *scene) each(what string, do func(*env.Env, *trial)) {
	s.T.Helper()
	s.T.Run(what, func(t *testing.T) {
		for _, name := range slices.Sorted(maps.Keys(s.trials)) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				do(s.WithT(t), s.trials[name])
			})
		}
	})
}

// apply applies those documents of a trial that are others than before.
func (s *scene) apply(e *env.Env, tr *trial, before, after string) {
	e.T.Helper()
	for _, document := range s.changed(tr, before, after) {
		e.NoError(e.Cluster.Apply(e.T.Context(), e.Namespace, e.Parse(document)))
	}
}

// changed returns the documents that are others than before.
func (s *scene) changed(tr *trial, before, after string) []string {
	known := strings.Split(s.finish(tr, before), "---\n")
	isKnown := func(document string) bool { return slices.Contains(known, document) }
	return slices.DeleteFunc(strings.Split(s.finish(tr, after), "---\n"), isKnown)
}

// begin starts a host, and brings all trials to where they are edited.
func (s *scene) begin(flags ...string) {
	s.T.Helper()
	s.each("first texts", func(e *env.Env, tr *trial) { s.create(e, tr) })
	s.Start(append(flags, "--namespace="+s.Namespace)...)
	s.waitForChildren()
	s.touchAll("first touches", func(tr *trial) []touch { return tr.first })
	s.editAll("earlier edits", func(tr *trial) (string, string) { return tr.before, tr.between })
}

// create applies the parents of a trial, what its hooks are given, and its first text.
func (s *scene) create(e *env.Env, tr *trial) {
	e.T.Helper()
	apply := func(format string, args ...any) {
		e.NoError(e.Cluster.Apply(e.T.Context(), e.Namespace, e.Parse(fmt.Sprintf(format, args...))))
	}
	apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s-settings}, data: {count: '3'}}", tr.name)
	custom := "{apiVersion: %s/v1, kind: %s, metadata: {name: %s, labels: {row: %s, of: %s}}, spec: {selector: {matchLabels: {of: %s}}}}"
	for n := range tr.parents {
		parent := fmt.Sprintf("%s-%d", tr.name, n)
		apply(custom, e.Group, "Thing", parent, tr.name, parent, parent)
		for _, input := range []string{"a", "b", "c"} {
			if tr.kind == m {
				apply(custom, e.Group, "Gizmo", parent+"-"+input, tr.name, parent, parent)
			}
		}
	}
	s.apply(e, tr, "", tr.before)
}

// waitForChildren waits until all parents have their children.
func (s *scene) waitForChildren() {
	s.T.Helper()
	cluster.Eventually(s.T, patience, func() error {
		all, definitions := s.observe(), s.definitions()
		for name, tr := range s.trials {
			if n := countOf(all[name]); n < 3*tr.parents {
				return fmt.Errorf("%d children of %d parents: %s", n, tr.parents, definitions[name])
			}
			status := definitions[name].status
			if tr.revision = status.ScriptRevisionHash; tr.revision == "" && !strings.Contains(tr.before, "webhook:") {
				return fmt.Errorf("%s has no revision", name)
			}
		}
		return nil
	})
	s.WaitForQuiet()
}

// touchAll changes what trials ask for, and waits until all has settled.
func (s *scene) touchAll(what string, of func(*trial) []touch) {
	s.T.Helper()
	s.each(what, func(e *env.Env, tr *trial) {
		for _, touch := range of(tr) {
			s.touch(e, tr, touch)
		}
	})
	s.WaitForQuiet()
}

func (s *scene) touch(e *env.Env, tr *trial, touch touch) {
	e.T.Helper()
	change := func(resource schema.GroupVersionResource, name string) {
		if touch.patch == "delete" {
			e.NoError(e.In(resource).Delete(e.T.Context(), name, metav1.DeleteOptions{}))
			return
		}
		e.Patch(resource, name, touch.patch)
	}
	switch touch.of {
	case "settings":
		change(env.ConfigMaps, tr.name+"-settings")
	case "webhook":
		s.hooks.empty(tr.name)
	case "definition":
		definition, _, _ := strings.Cut(s.finish(tr, strings.Replace(tr.after, "ROW", touch.patch, 1)), "---\n")
		e.Apply(definition)
		e.Delete(env.Definitions(tr.kind), "", tr.name)
		e.WaitUntilReady(tr.kind, touch.patch)
	default:
		resource := map[string]schema.GroupVersionResource{"things": e.Things(), "gizmos": e.Resource("Gizmo")}[touch.of]
		for name := range e.List(resource, "row="+tr.name) {
			change(resource, name)
		}
	}
}

// editAll applies another text of each trial that has one, and waits until the host has decided about all.
func (s *scene) editAll(what string, texts func(*trial) (before, after string)) {
	s.T.Helper()
	for _, tr := range s.trials {
		if tr.earlier != nil && tr.between == "" {
			tr.between = s.text(tr.before, tr.earlier)
		}
	}
	edited := map[string]*trial{}
	s.each(what, func(e *env.Env, tr *trial) {
		before, after := texts(tr)
		if after == "" || len(s.changed(tr, before, after)) == 0 {
			return
		}
		s.apply(e, tr, before, after)
		s.mu.Lock()
		edited[tr.name] = tr
		s.mu.Unlock()
	})
	s.T.Run("decided", func(t *testing.T) {
		cluster.Eventually(t, patience, func() error {
			definitions, events := s.definitions(), s.events()
			var undecided []string
			for name, tr := range edited {
				_, known := definitions[name].verdict(tr, events[name])
				if _, after := texts(tr); after == tr.between && definitions[name].status.ObservedScriptRevisionHash == tr.revision {
					known = false // The status is that of the first text: nothing tells which revision this one is.
				}
				if !known {
					undecided = append(undecided, definitions[name].String())
				}
			}
			if len(undecided) > 0 {
				return fmt.Errorf("not decided:\n%s", strings.Join(undecided, "\n\n"))
			}
			return nil
		})
	})
	s.WaitForQuiet()
	definitions, events := s.definitions(), s.events() // The guard may have stopped an edit that served.
	for name, tr := range edited {
		tr.verdict, _ = definitions[name].verdict(tr, events[name])
	}
}

// definition is one of the cluster.
type definition struct {
	object *unstructured.Unstructured
	status v1alpha1.DefinitionStatus
}

func (d definition) String() string {
	text := d.object.GetName()
	for _, c := range d.status.Conditions {
		text += fmt.Sprintf("\n%s %s %s %s", c.Type, c.Status, c.Reason, c.Message)
	}
	return text
}

func (s *scene) definitions() map[string]definition {
	s.T.Helper()
	all := map[string]definition{}
	for _, kind := range []string{c, d, m} {
		list, err := s.ClusterScope().In(env.Definitions(kind)).List(s.T.Context(), metav1.ListOptions{})
		s.NoError(err)
		for i := range list.Items {
			var typed v1alpha1.CompositeController
			status, _, _ := unstructured.NestedMap(list.Items[i].Object, "status")
			s.NoError(runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"status": status}, &typed))
			all[list.Items[i].GetName()] = definition{&list.Items[i], typed.Status}
		}
	}
	return all
}

func (d definition) condition(kind string) metav1.Condition {
	for _, c := range d.status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return metav1.Condition{}
}

// verdict returns what the host makes of the edit, once that is known.
func (d definition) verdict(tr *trial, events []string) (v verdict, known bool) {
	want := tr.said.Edit.Revision
	switch progressing := d.condition("Progressing"); {
	case d.object == nil, d.status.ObservedGeneration != d.object.GetGeneration(),
		d.condition("Ready").ObservedGeneration != d.object.GetGeneration(), d.condition("Reconciling").Status == metav1.ConditionTrue,
		want != "" && !tr.pinned && d.status.ObservedScriptRevisionHash != want:
		return v, false
	case progressing.Status == metav1.ConditionFalse:
		line, _, _ := strings.Cut(progressing.Message, "\n")
		return verdict{true, line}, true
	case progressing.Reason == "Previewing", want != "" && d.status.ScriptRevisionHash != want:
		return v, false
	}
	if want != "" {
		for _, event := range events {
			if said := tr.said.Edit.Sentence; event == said || tr.pinned && strings.HasPrefix(event, said+";") {
				return verdict{text: said}, true
			}
			if strings.Contains(event, "revision "+want[:16]+" serves") {
				v.text = event
			}
		}
	}
	return v, true
}

// events returns the messages of the events of each definition.
func (s *scene) events() map[string][]string {
	s.T.Helper()
	list, err := s.InNamespace("default").In(env.Events).List(s.T.Context(), metav1.ListOptions{})
	s.NoError(err)
	all := map[string][]string{}
	for _, item := range list.Items {
		var event corev1.Event
		s.NoError(runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &event))
		all[event.InvolvedObject.Name] = append(all[event.InvolvedObject.Name], event.Message)
	}
	return all
}

// object is what is seen of one: its UID, and texts of all but its status, and of that.
type object struct{ uid, text, status string }

// observe returns all children and Things of each row, by kind and name.
func (s *scene) observe() map[string]map[string]object {
	s.T.Helper()
	all := map[string]map[string]object{}
	for name := range s.trials {
		all[name] = map[string]object{}
	}
	for _, resource := range []schema.GroupVersionResource{env.ConfigMaps, env.Secrets, env.Deployments, s.Things()} {
		for name, o := range s.List(resource, "") {
			row := rowOf(name)
			if all[row] == nil {
				continue
			}
			uid, status := string(o.GetUID()), o.Object["status"]
			if o.GetKind() != "Thing" {
				status = nil
			}
			delete(o.Object, "status")
			for _, field := range []string{"managedFields", "resourceVersion", "generation", "deletionTimestamp", "deletionGracePeriodSeconds"} {
				unstructured.RemoveNestedField(o.Object, "metadata", field)
			}
			unstructured.RemoveNestedField(o.Object, "metadata", "annotations", "deployment.kubernetes.io/revision")
			all[row][o.GetKind()+" "+name] = object{uid, fmt.Sprint(o.Object), fmt.Sprint(status)}
		}
	}
	return all
}

var rowPattern = regexp.MustCompile(`^(.*?)-\d+(-.*)?$`)

// rowOf returns the row of an object, or "".
func rowOf(name string) string {
	if match := rowPattern.FindStringSubmatch(name); match != nil {
		return match[1]
	}
	return ""
}

// countOf returns how many children there are among objects.
func countOf(objects map[string]object) (n int) {
	for name := range objects {
		if !strings.HasPrefix(name, "Thing ") {
			n++
		}
	}
	return n
}

// count counts what is seen in a watch.
func (s *losses) count(stream watch.Interface) {
	for event := range stream.ResultChan() {
		o, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		s.mu.Lock()
		row := rowOf(o.GetName())
		switch {
		case event.Type == watch.Added && !s.noted:
			s.known[o.GetUID()] = true
		case event.Type == watch.Deleted && s.known[o.GetUID()]:
			if s.deleted[row] == nil {
				s.deleted[row] = map[string]int{}
			}
			s.deleted[row][o.GetKind()]++
		}
		s.mu.Unlock()
	}
}

// deletions returns how many children of a row have been deleted, by kind.
func (s *losses) deletions(row string) (map[string]int, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, total := maps.Clone(s.deleted[row]), 0
	for _, n := range all {
		total += n
	}
	return all, total
}

// note notes what there is before the edits.
func (s *scene) note() {
	s.T.Helper()
	all := s.observe()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noted = true
	for name, objects := range all {
		tr := s.trials[name]
		tr.objects, tr.children = objects, map[string]int{}
		for key := range objects {
			if kind, _, _ := strings.Cut(key, " "); kind != "Thing" {
				tr.children[kind]++
			}
		}
		for kind, n := range s.deleted[name] { // By an earlier edit.
			tr.children[kind] += n
		}
	}
}

// diff asks libretto diff about all edits.
func (s *scene) diff() {
	s.T.Helper()
	program, err := cluster.Binary("libretto")
	s.NoError(err)
	names := slices.Sorted(maps.Keys(s.trials))
	half := len(names) / 2
	s.T.Run("diff", func(t *testing.T) {
		for i, names := range [][]string{names[:half], names[half:]} {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				var documents []string
				for _, name := range names {
					tr := s.trials[name]
					documents = append(documents, s.changed(tr, cmp.Or(tr.between, tr.before), tr.after)...)
				}
				file := filepath.Join(t.TempDir(), "edits.yaml")
				env.NoError(t, os.WriteFile(file, []byte(strings.Join(documents, "---\n")), 0o600))
				for _, d := range s.run(t, program, "diff", "--kubeconfig", s.Cluster.Kubeconfig, "-f", file, "-o", "json") {
					_, name, _ := strings.Cut(d.Definition, " ")
					s.trials[name].said = d
				}
			})
		}
	})
}

// run runs a command, and returns what it prints.
func (s *scene) run(t *testing.T, program string, args ...string) (all []document) {
	t.Helper()
	var stderr strings.Builder
	command := exec.CommandContext(t.Context(), program, args...)
	command.Stderr = &stderr
	out, err := command.Output()
	if exit := (&exec.ExitError{}); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	return all
}

// place is where an error was thrown: a file for diff, and a key of a ConfigMap for the host.
var place = regexp.MustCompile(`: HookFailed.*`)

// check compares what the host says of an edit with what diff said, and that nothing has been deleted that may not.
func (s *scene) check(e *env.Env, tr *trial) {
	if want := tr.held != ""; tr.verdict.held != want || !strings.Contains(tr.verdict.text, tr.held) {
		e.T.Errorf("held: %t, want %t with %q: %s", tr.verdict.held, want, tr.held, tr.verdict.text)
	}
	said := tr.said.Edit
	switch {
	case tr.edit == nil:
	case tr.wantError != "":
		if !strings.Contains(tr.said.Error, tr.wantError) {
			e.T.Errorf("diff says %q, want an error with %q", tr.said.Error, tr.wantError)
		}
	case tr.said.Error != "":
		e.T.Errorf("diff can't tell: %s", tr.said.Error)
	case (said.Held != "") != tr.verdict.held:
		e.T.Errorf("the host holds it: %t: %s\nand diff says %q (held: %q)", tr.verdict.held, tr.verdict.text, said.Sentence, said.Held)
	default:
		a, b := place.ReplaceAllString(said.Sentence, ""), place.ReplaceAllString(tr.verdict.text, "")
		if tr.pinned { // Nothing previews it: the guard counts up to where it stops, and the condition goes on.
			a, _, _ = strings.Cut(a, " delete ")
			b = b[:min(len(a), len(b))]
		}
		if a != b {
			e.T.Errorf("diff says %q\nand the host %q", a, b)
		}
	}
	s.checkLost(e, tr)
}

// checkLost checks how many children have been deleted.
func (s *scene) checkLost(e *env.Env, tr *trial) {
	e.T.Helper()
	deleted, total := s.deletions(tr.name)
	tr.lost = total
	if tr.asked {
		return
	}
	all := 0
	for kind, n := range tr.children {
		if all += n; deleted[kind] > max(1, n/2) {
			e.T.Errorf("%d of %d children of kind %s were deleted", deleted[kind], n, kind)
		}
	}
	if most := map[bool]int{true: max(1, all/2), false: max(0, tr.most)}[tr.most == 0]; total > most {
		e.T.Errorf("%d of %d children were deleted, and %d may be", total, all, most)
	}
}

// approve lets through what is held, by the IDs that diff printed.
func (s *scene) approve() {
	s.T.Helper()
	s.each("approve", func(e *env.Env, tr *trial) {
		if tr.verdict.held && tr.said.Edit.Approve != "" {
			words := strings.Fields(tr.said.Edit.Approve)
			const patch = `{"metadata": {"annotations": {%q: %q}}}`
			e.PatchDefinition(tr.kind, tr.name, fmt.Sprintf(patch, v1alpha1.ApprovedRevisionAnnotation, words[len(words)-1]))
		}
	})
}

// compare compares what was done once an edit served with what diff said.
func (s *scene) compare() {
	s.T.Helper()
	different := map[string]string{}
	s.T.Run("objects", func(t *testing.T) {
		cluster.Eventually(t, env.Timeout, func() error {
			clear(different)
			for name, objects := range s.observe() {
				tr := s.trials[name]
				got, want := changesOf(tr.objects, objects), tr.said.changes(s.Namespace)
				if tr.changes = summary(got); tr.wantError == "" && !slices.Equal(got, want) {
					different[name] = fmt.Sprintf("the host has done\n%s\nand diff said\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
			if len(different) > 0 {
				return fmt.Errorf("%s", slices.Collect(maps.Values(different)))
			}
			return nil
		})
	})
}

// changes returns the change of each object that diff shows.
func (d document) changes(namespace string) []string {
	var all []string
	for _, change := range d.Changes {
		action := change.Action
		switch action {
		case "leave":
			continue
		case "adopt", "release":
			action = "update"
		}
		for _, name := range change.Objects {
			all = append(all, action+" "+change.Kind+" "+strings.TrimPrefix(name, namespace+"/"))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// changesOf returns the change of each object.
func changesOf(before, after map[string]object) []string {
	var all []string
	for key, o := range before {
		switch now, there := after[key]; {
		case !there:
			all = append(all, "delete "+key)
		case now.uid != o.uid:
			all = append(all, "recreate "+key)
		default:
			if now.text != o.text {
				all = append(all, "update "+key)
			}
			if now.status != o.status {
				all = append(all, "update status "+key)
			}
		}
	}
	for key := range after {
		if _, there := before[key]; !there {
			all = append(all, "create "+key)
		}
	}
	slices.Sort(all)
	return all
}

// summary counts changes by action and kind.
func summary(changes []string) string {
	counts := map[string]int{}
	for _, change := range changes {
		counts[change[:strings.LastIndex(change, " ")]]++
	}
	var all []string
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%s %d", what, counts[what]))
	}
	return strings.Join(all, ", ")
}

// checkGuard checks that what has become dangerous after the edit was stopped.
func (s *scene) checkGuard(e *env.Env, tr *trial) {
	if tr.guarded != "" {
		tr.stopped = e.WaitForConditionOf(tr.kind, tr.name, "Progressing", "False", tr.guarded, "no more are deleted").Message
	}
	if tr.held == "" {
		s.checkLost(e, tr)
	}
}

// report logs the results of the trials.
func (s *scene) report() {
	var lines []string
	for _, r := range slices.Concat(accidents, honest) {
		if tr := s.trials[r.name]; tr != nil {
			lines = append(lines, fmt.Sprintf("| %s | %s | %q | %t %q | %s | %d of %v | %q |", tr.name, tr.kind,
				cmp.Or(tr.said.Edit.Sentence, tr.said.Error), tr.verdict.held, tr.verdict.text, tr.changes, tr.lost, tr.children, tr.stopped))
		}
	}
	s.T.Logf("\n%s", strings.Join(lines, "\n"))
}
