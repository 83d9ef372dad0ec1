package dev

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// step is what is done on both clusters, and what there is on both then.
type step struct {
	// files changes the files of the folder. from is what libretto init has written.
	files func(from, folder string) error
	// onReal are commands of kubectl for what libretto dev does with the files of its folder itself.
	onReal []string
	// commands are of kubectl. What they print is compared.
	commands []string
	// ready has an object be ready or not in memory. In the real cluster the stand-in for a kubelet sees an annotation.
	ready string
	// until are fields that have a value then, as KIND NAME PATH=VALUE, and objects that are gone, as no KIND NAME.
	until []string
}

const (
	catset     = "CatSet.ctl.example.com demo/nginx "
	definition = "CompositeController.metacontroller.k8s.io "
)

// scenarios are controllers that somebody tries: the first one of the README by hand and made by libretto init, and an example that has
// Pods.
var scenarios = []struct {
	name  string
	steps []step
}{
	{"hello", []step{
		{commands: []string{"apply -f EXAMPLES/hello/hello.yaml"}, until: []string{definition + "hello Ready=True"}},
		{
			commands: []string{"apply -f EXAMPLES/hello/greeting.yaml"},
			until:    []string{"ConfigMap default/world-greeting data.text=Hello, world!", definition + "hello ParentsSynced=True"},
		},
		{
			commands: []string{"apply -f TEMP/hello.yaml"},
			until:    []string{"ConfigMap default/world-greeting data.text=Good morning, world!"},
		},
		{commands: []string{"delete -f EXAMPLES/hello/greeting.yaml"}, until: []string{"no ConfigMap default/world-greeting"}},
		{
			commands: []string{"delete compositecontroller hello", "delete configmap hello-hooks"},
			until:    []string{"no ConfigMap default/hello-hooks"},
		},
	}},
	{"catset", []step{
		{commands: []string{"apply -k EXAMPLES/catset"}, until: []string{definition + "catset-controller Ready=True"}},
		{
			commands: []string{
				"wait --for=condition=Ready compositecontroller/catset-controller --timeout=20s", "apply -f EXAMPLES/catset/catset.yaml",
			},
			until: []string{catset + "status.readyReplicas=3", definition + "catset-controller ParentsSynced=True"},
		},
		{
			commands: []string{
				"wait --for=jsonpath={.status.readyReplicas}=3 catset/nginx -n demo --timeout=20s", "get catsets -n demo",
				"scale catset nginx -n demo --replicas=1",
			},
			until: []string{catset + "status.replicas=1", "no Pod demo/nginx-1", "no Pod demo/nginx-2"},
		},
		{commands: []string{"scale catset nginx -n demo --replicas=2"}, until: []string{catset + "status.readyReplicas=2"}},
		{
			commands: []string{"delete pod nginx-0 -n demo"},
			until:    []string{"Pod demo/nginx-0 status.Ready=True", catset + "status.readyReplicas=2"},
		},
		{
			commands: []string{`patch catset nginx -n demo --type=merge -p {"spec":{"template":{"metadata":{"labels":{"version":"2"}}}}}`},
			until: []string{
				"Pod demo/nginx-0 metadata.labels.version=2", "Pod demo/nginx-1 metadata.labels.version=2", catset + "status.readyReplicas=2",
			},
		},
		{
			commands: []string{"annotate pod nginx-1 -n demo controlplane.libretto.dev/hold=Ready"}, ready: "false",
			until: []string{"Pod demo/nginx-1 status.Ready=False", catset + "status.readyReplicas=1"},
		},
		{
			commands: []string{"scale catset nginx -n demo --replicas=3"},
			until:    []string{catset + "status.observedGeneration=5", catset + "status.currentReplicas=2"},
		},
		{
			commands: []string{"annotate pod nginx-1 -n demo controlplane.libretto.dev/hold-"}, ready: "null",
			until: []string{"Pod demo/nginx-2 status.Ready=True", catset + "status.readyReplicas=3"},
		},
		{
			commands: []string{`patch pod nginx-0 -n demo --subresource=status --type=merge -p {"status":{"phase":"Failed"}}`},
			until:    []string{"Pod demo/nginx-0 status.phase=Running", catset + "status.readyReplicas=3"},
		},
		{
			commands: []string{"apply -k TEMP/broken"},
			until:    []string{definition + "catset-controller ScriptsReady=False"},
		},
		{
			// The edit is held, as it would have all Pods be created anew.
			commands: []string{"describe compositecontroller catset-controller", "apply -k TEMP/catset"},
			until:    []string{definition + "catset-controller Progressing=False"},
		},
		{
			commands: []string{"libretto rollout status cc/catset-controller --timeout=1s", "libretto rollout approve cc/catset-controller"},
			until: []string{
				definition + "catset-controller ScriptsReady=True", "Pod demo/nginx-2 metadata.labels.edited=yes", catset + "status.readyReplicas=3",
			},
		},
		{commands: []string{"delete catset nginx -n demo --cascade=orphan"}, until: []string{"no " + strings.TrimSpace(catset)}},
		{
			commands: []string{"apply -f EXAMPLES/catset/catset.yaml"},
			until:    []string{catset + "status.readyReplicas=3"},
		},
		{
			commands: []string{"delete catset nginx -n demo"},
			until:    []string{"no Pod demo/nginx-0", "no Pod demo/nginx-2", "no PersistentVolumeClaim demo/www-nginx-2"},
		},
		{
			commands: []string{
				"delete compositecontroller catset-controller", "delete configmap catset-hooks -n catset", "delete namespace demo catset",
			},
		},
	}},
	{"webapp", []step{
		{
			files: func(from, folder string) error { return replaceIn(from+"/crd.yaml", folder+"/crd.yaml", "", "") },
			onReal: []string{
				"apply --server-side --field-manager=libretto-dev -f TEMP/webapp/crd.yaml",
				"wait --for=condition=Established crd/webapps.example.com --timeout=20s",
			},
			until: []string{"CustomResourceDefinition.apiextensions.k8s.io webapps.example.com Established=True"},
		},
		{
			files: func(from, folder string) error {
				return errors.Join(os.Remove(folder+"/crd.yaml"), os.CopyFS(folder, os.DirFS(from)))
			},
			until: []string{definition + "webapp Ready=True"},
		},
		{
			commands: []string{"apply -f TEMP/webapp/example.yaml"},
			until:    []string{"Webapp.example.com default/example status.readyReplicas=2"},
		},
		{
			files: func(_, folder string) error {
				return replaceIn(folder+"/sync.ts", folder+"/sync.ts", "port: 80,", "port: 8080,")
			},
			until: []string{"Service default/example spec.ports=[map[port:8080 targetPort:80]]"},
		},
		{
			commands: []string{`patch webapp example --type=json -p [{"op":"replace","path":"/spec/replicas","value":3}]`},
			until:    []string{"Webapp.example.com default/example status.readyReplicas=3"},
		},
		{
			commands: []string{"delete -f TEMP/webapp/example.yaml --cascade=foreground"},
			until:    []string{"no Deployment.apps default/example", "no Service default/example"},
		},
		{
			files: func(from, folder string) error {
				return errors.Join(os.RemoveAll(folder), os.Mkdir(folder, 0o700), replaceIn(from+"/crd.yaml", folder+"/crd.yaml", "", ""))
			},
			onReal:   []string{"delete compositecontroller webapp"},
			commands: []string{"delete configmap webapp-hooks"},
			until:    []string{"no CompositeController.metacontroller.k8s.io webapp"},
		},
	}},
	// The real garbage collector does nothing for up to half a minute after a kind has gone.
	{"end", []step{{
		files:    func(_, folder string) error { return os.Remove(folder + "/crd.yaml") },
		onReal:   []string{"delete crd webapps.example.com"},
		commands: []string{"delete crd greetings.ctl.example.com catsets.ctl.example.com"},
		until:    []string{"no CustomResourceDefinition.apiextensions.k8s.io webapps.example.com"},
	}}},
}

// TestEndState drives hosts on a cluster in memory, with libretto dev, and on a real one by the same commands, and compares all objects
// after each step.
func TestEndState(t *testing.T) {
	temp := t.TempDir()
	writeExamples(t, temp)
	dev := start(t, "", "--no-tests")
	inMemory, err := cluster.Attach(dev.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	dev.run("libretto", "", "init", "composite", "webapp", "--dir", temp+"/webapp")
	sides := []*side{newSide(t, "real", cluster.Get(t)), newSide(t, "in memory", inMemory)}
	host, err := sides[0].StartLibretto(t.Context(), "-f", dev.folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := host.Stop(); err != nil {
			t.Error(err)
		}
	})
	for _, scenario := range scenarios {
		t.Run(scenario.name, func(t *testing.T) {
			for i, step := range scenario.steps {
				t.Logf("step %d: %q", i, step.commands)
				step.take(t, dev, sides, strings.NewReplacer("EXAMPLES", root+"examples", "TEMP", temp))
			}
		})
	}
}

// take takes the step on both sides, and compares.
func (s step) take(t *testing.T, dev *session, sides []*side, names *strings.Replacer) {
	t.Helper()
	if s.files != nil {
		if err := s.files(names.Replace("TEMP/webapp"), dev.folder); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range s.onReal {
		if _, err := sides[0].Kubectl(t.Context(), strings.Fields(names.Replace(command))...); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range s.commands {
		var said [2]string
		var both sync.WaitGroup
		for i, side := range sides {
			both.Go(func() { said[i] = side.run(t.Context(), strings.Fields(names.Replace(command))) })
		}
		both.Wait()
		if said[0] != said[1] {
			t.Errorf("kubectl %s: -real +in memory:\n%s", command, cmp.Diff(said[0], said[1]))
		}
	}
	if s.ready != "" {
		dev.setReady("nginx-1", s.ready)
	}
	cluster.Eventually(t, time.Minute, func() error { // See the end of scenarios.
		var found [2]map[string]any
		for i, side := range sides {
			state, err := side.state(t.Context())
			if err != nil {
				return err
			}
			for _, condition := range s.until {
				if err := holds(state, condition); err != nil {
					return fmt.Errorf("%s: %w", side.name, err)
				}
			}
			found[i] = state
		}
		if diff := cmp.Diff(found[0], found[1]); diff != "" {
			return fmt.Errorf("-real +in memory:\n%s", diff)
		}
		return nil
	})
}

// side is a cluster, of which the objects that were there before are left out.
type side struct {
	*cluster.Cluster
	name      string
	discovery *discovery.DiscoveryClient
	before    map[types.UID]bool
	uids      map[types.UID]string // Of all objects that were seen.
}

func newSide(t *testing.T, name string, c *cluster.Cluster) *side {
	t.Helper()
	if err := c.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	client, err := discovery.NewDiscoveryClientForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	s := &side{Cluster: c, name: name, discovery: client, uids: map[types.UID]string{}}
	all, err := s.list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.before = map[types.UID]bool{}
	for _, object := range all {
		s.before[object.GetUID()] = true
	}
	return s
}

// run returns what a command prints, which is one of kubectl or of libretto.
func (s *side) run(ctx context.Context, words []string) string {
	if words[0] != "libretto" {
		out, err := s.Kubectl(ctx, words...)
		if err != nil {
			out += err.Error()
		}
		return normal(out)
	}
	binary, err := cluster.Binary("libretto")
	if err != nil {
		return err.Error()
	}
	out, err := exec.CommandContext(ctx, binary, append(words[1:], "--kubeconfig="+s.Kubeconfig)...).CombinedOutput()
	return fmt.Sprint(normal(string(out)), err)
}

// list returns all objects, but those that were there before.
func (s *side) list(ctx context.Context) (all []*unstructured.Unstructured, err error) {
	lists, err := s.discovery.ServerPreferredResources()
	if err != nil {
		return nil, err
	}
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "watch"}}, lists) {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			if resource.Name == "endpoints" || resource.Name == "events" && version.Group != "" {
				continue
			}
			found, err := s.Dynamic().Resource(version.WithResource(resource.Name)).List(ctx, metav1.ListOptions{})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", resource.Name, err)
			}
			for i := range found.Items {
				if !s.before[found.Items[i].GetUID()] {
					all = append(all, &found.Items[i])
				}
			}
		}
	}
	return all, nil
}

// nameOf returns by what an object is known on both sides.
func nameOf(object *unstructured.Unstructured) string {
	name := object.GetName()
	if namespace := object.GetNamespace(); namespace != "" {
		name = namespace + "/" + name
	}
	return object.GroupVersionKind().GroupKind().String() + " " + name
}

// state returns all objects by their names, as far as they do not depend on the cluster.
func (s *side) state(ctx context.Context) (map[string]any, error) {
	all, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	present := map[types.UID]bool{}
	for _, object := range all {
		s.uids[object.GetUID()], present[object.GetUID()] = nameOf(object), true
	}
	var pairs []string
	for _, uid := range slices.SortedFunc(maps.Keys(s.uids), func(a, b types.UID) int { return len(b) - len(a) }) {
		label := "UID of " + s.uids[uid]
		if !present[uid] {
			label += ", which is gone"
		}
		pairs = append(pairs, string(uid), label)
	}
	uids, state := strings.NewReplacer(pairs...), map[string]any{}
	events := map[string]any{}
	for _, object := range all {
		switch owner := metav1.GetControllerOf(object); {
		case object.GetKind() == "Event":
			if component, _, _ := unstructured.NestedString(object.Object, "source", "component"); component == "metacontroller" {
				events[eventText(object, uids)] = true
			}
		case unmade[object.GetKind()] || unmade[object.GetName()] || owner != nil && unmade[owner.Kind]:
		default:
			state[nameOf(object)] = steadyFields(object, uids)
		}
	}
	state["events"] = slices.Sorted(maps.Keys(events))
	return state, nil
}

// eventText returns what an event says, however often it was.
func eventText(event *unstructured.Unstructured, uids *strings.Replacer) string {
	text := func(path ...string) string {
		text, _, _ := unstructured.NestedString(event.Object, path...)
		return text
	}
	return text("type") + " " + text("reason") + " " + text("involvedObject", "kind") + " " + text("involvedObject", "namespace") + "/" +
		text("involvedObject", "name") + ": " + uids.Replace(timeText.ReplaceAllString(text("message"), "TIME"))
}

// holds returns why a condition does not hold, or nil.
func holds(state map[string]any, condition string) error {
	if name, isGone := strings.CutPrefix(condition, "no "); isGone {
		if state[name] != nil {
			return fmt.Errorf("%s is there", name)
		}
		return nil
	}
	words := strings.SplitN(condition, " ", 3)
	path, want, _ := strings.Cut(words[2], "=")
	object, _ := state[words[0]+" "+words[1]].(map[string]any)
	value, _, _ := unstructured.NestedFieldNoCopy(object, strings.Split(path, ".")...)
	if conditions, _, _ := unstructured.NestedSlice(object, "status", "conditions"); !strings.Contains(path, ".") {
		for _, item := range conditions {
			if fields, _ := item.(map[string]any); fields["type"] == path {
				value = fields["status"]
			}
		}
	}
	if got := fmt.Sprint(value); got != want {
		return fmt.Errorf("%s is %s: %v", condition, got, object)
	}
	return nil
}

// writeExamples writes variants of the examples.
func writeExamples(t *testing.T, folder string) {
	t.Helper()
	err := replaceIn(root+"examples/hello/hello.yaml", folder+"/hello.yaml", "Hello, ", "Good morning, ")
	for name, edited := range map[string][2]string{
		"catset": {"labels: { ...metadata.labels }", `labels: { ...metadata.labels, edited: "yes" }`},
		"broken": {"export function sync", "export function function sync"},
	} {
		at := filepath.Join(folder, name)
		err = errors.Join(err, os.CopyFS(at, os.DirFS(root+"examples/catset")), replaceIn(at+"/sync.js", at+"/sync.js", edited[0], edited[1]))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// replaceIn writes the text of a file with another part into a file.
func replaceIn(from, to, old, changed string) error {
	text, err := os.ReadFile(from)
	if err == nil && !strings.Contains(string(text), old) {
		err = fmt.Errorf("%s has no %q", from, old)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(to, []byte(strings.Replace(string(text), old, changed, 1)), 0o600)
}
