// Package shards_test has several hosts share the work by --shards, on the real API server.
package shards_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// TestMain starts an API server that sends the objects of shards alone, if its version can.
func TestMain(m *testing.M) {
	os.Exit(cluster.MainWith(m, cluster.Options{FeatureGates: "ShardedListAndWatch=true"}))
}

var leases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

// handOver is how long it may take until the ranges of a process that was killed work again: its lease is seen to be over, and they begin.
const handOver = 40 * time.Second

const (
	shards     = 4
	namespaces = 12
)

// scene is a definition whose parents are in several namespaces, and the hosts that share it.
type scene struct {
	*env.Env
	// homes are Envs of the namespaces of the parents.
	homes []*env.Env
}

// newScene returns a scene with two Things in each namespace, whose children have the value "one". It has no host.
func newScene(t *testing.T, rollout string) *scene {
	t.Helper()
	s := &scene{Env: env.NewWithThings(t)}
	s.edit("one", "")
	s.define(rollout)
	for range namespaces {
		home := s.InNamespace(s.Cluster.Namespace(t))
		s.homes = append(s.homes, home)
		home.ApplyThing("a", "tier: canary", "")
		home.ApplyThing("b", "", "")
	}
	return s
}

// define applies the definition with a scriptRollout.
func (s *scene) define(rollout string) {
	s.T.Helper()
	s.Apply(fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %s, labels: {test: %[1]s}}
spec:
  generateSelector: true
  parentResource: {apiVersion: %s/v1, resource: things}
  childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]
  scriptSources: [{configMap: {namespace: %[1]s, name: hooks}}]
  scriptRollout: %[3]s
  hooks: {sync: {version: v2, script: {path: sync.js}}, finalize: {version: v2, script: {path: sync.js}}}
`, s.Namespace, s.Group, rollout))
}

// edit makes the script give children a value. It throws for the Thing in one namespace, if that is not empty.
func (s *scene) edit(value, failing string) {
	s.T.Helper()
	s.write(fmt.Sprintf(`export function sync({parent}) {
  const {name, namespace} = parent.metadata;
  if (namespace === %q) throw new Error("no");
  return {children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name}, data: {value: %q}}]};
}
export const finalize = () => ({children: [], finalized: true});
`, failing, value))
}

func (s *scene) write(script string) {
	s.T.Helper()
	s.ApplyObject(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "hooks"}, "data": map[string]any{"sync.js": script},
	}})
}

// start starts a host that takes part, with a user of its own.
func (s *scene) start(name string, flags ...string) replica {
	s.T.Helper()
	user := s.NewUser(name)
	user.Bind("", "cluster-admin")
	ctx, cancel := context.WithTimeout(s.T.Context(), env.Timeout)
	defer cancel()
	host, err := s.Cluster.StartLibretto(ctx, append([]string{
		"-v=1", "--kubeconfig", user.Kubeconfig(), "--leader-elect", fmt.Sprintf("--shards=%d", shards),
		"--leader-elect-resource-namespace=" + s.Namespace, "--namespace=" + s.Namespace, "--target-label-selector=test=" + s.Namespace,
	}, flags...)...)
	s.NoError(err)
	s.T.Cleanup(func() {
		if err := host.Kill(); err != nil {
			s.T.Error(err)
		}
		if s.T.Failed() {
			s.T.Logf("the log of the %s:\n%s", name, host.Log())
		}
	})
	return replica{host, user.Name}
}

type replica struct {
	*cluster.Libretto
	user string
}

// waitForShares waits until each range has a holder, and each of so many processes as many as the others, one more or less.
func (s *scene) waitForShares(replicas int) {
	s.T.Helper()
	cluster.Eventually(s.T, handOver, func() error {
		held := map[string]int{}
		for name, lease := range s.List(leases, "") {
			if holder, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity"); strings.Contains(name, "-shard-") && holder != "" {
				held[holder]++
			}
		}
		counts := slices.Sorted(maps.Values(held))
		if len(counts) != replicas || counts[len(counts)-1]-counts[0] > 1 || counts[0]*replicas > shards {
			return fmt.Errorf("shards are held by %v, want %d holders", held, replicas)
		}
		return nil
	})
}

// values returns how many children have each value.
func (s *scene) values() map[string]int {
	s.T.Helper()
	found := map[string]int{}
	for _, home := range s.homes {
		for _, name := range []string{"a", "b"} {
			value := "none"
			if child := home.Get(env.ConfigMaps, name); child != nil {
				value, _, _ = unstructured.NestedString(child.Object, "data", "value")
			}
			found[value]++
		}
	}
	return found
}

func (s *scene) waitForValues(want map[string]int) {
	s.T.Helper()
	cluster.Eventually(s.T, handOver, func() error {
		if got := s.values(); !maps.Equal(got, want) {
			return fmt.Errorf("children have the values %v, want %v", got, want)
		}
		return nil
	})
}

func (s *scene) waitForPhase(want v1alpha1.ScriptRolloutPhase) {
	s.T.Helper()
	cluster.Eventually(s.T, handOver, func() error {
		object := s.ClusterScope().Get(env.CompositeControllers, s.Namespace)
		if got := v1alpha1.StoredStatus(object).ScriptRollout; got == nil || got.Phase != want {
			return fmt.Errorf("the rollout is %+v, want %s", got, want)
		}
		return nil
	})
}

// writers returns which users have written the children of each namespace.
func (s *scene) writers(since cluster.Mark) map[string][]string {
	s.T.Helper()
	by := map[string][]string{}
	for _, r := range s.Requests(since).Writes() {
		if r.Resource == "configmaps" && r.Namespace != s.Namespace && !slices.Contains(by[r.Namespace], r.User) {
			by[r.Namespace] = append(by[r.Namespace], r.User)
		}
	}
	return by
}

// defineInNamespaces applies a definition with a namespace in each, which is hosted by the shard of that alone.
func (s *scene) defineInNamespaces() {
	s.T.Helper()
	for _, home := range s.homes {
		home.Apply(fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: default, namespace: %s}]
---
apiVersion: libretto.dev/v1alpha1
kind: CompositeController
metadata: {name: own, labels: {test: %s}}
spec:
  generateSelector: true
  parentResource: {apiVersion: %s/v1, resource: things}
  childResources: [{apiVersion: v1, resource: serviceaccounts}]
  hooks: {sync: {version: v2, script: {engine: JavaScript, inline: %s}}}
`, home.Namespace, s.Namespace, s.Group, env.Quote(`export const sync = ({parent}) => ({children: [
  {apiVersion: "v1", kind: "ServiceAccount", metadata: {name: parent.metadata.name + "-own"}}]})`)))
	}
}

// TestShards has three hosts share the parents of one definition. Each namespace is one host's, an edit reaches all, and the status counts all.
func TestShards(t *testing.T) {
	s := newScene(t, "{}")
	s.defineInNamespaces()
	for _, name := range []string{"first", "second", "third"} {
		s.start(name)
	}
	s.waitForShares(3)
	s.waitForValues(map[string]int{"one": 2 * namespaces})
	for _, home := range s.homes {
		home.WaitFor(schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}, "a-own", nil)
	}
	s.WaitForColumns(env.Composite, s.Namespace, "True", "Loaded", fmt.Sprint(2*namespaces))
	mark := s.Mark()
	s.edit("two", "")
	s.waitForValues(map[string]int{"two": 2 * namespaces})
	writers := map[string]bool{}
	for namespace, users := range s.writers(mark) {
		if len(users) != 1 {
			t.Errorf("children in %s were written by %q", namespace, users)
		}
		writers[users[0]] = true
	}
	if len(writers) < 2 {
		t.Errorf("all was written by %v", writers)
	}
	s.WaitForCondition(s.Namespace, "Ready", "True", "Running")
	s.WaitForCondition(s.Namespace, "ParentsSynced", "True", "Synced")
	s.edit("three", s.homes[0].Namespace)
	s.WaitForCondition(s.Namespace, "Progressing", "False", "Held", s.homes[0].Namespace)
	if got := s.values(); got["two"] != 2*namespaces {
		t.Errorf("an edit that is held has reached children: %v", got)
	}
	s.Delete(env.CompositeControllers, "", s.Namespace)
	cluster.Eventually(t, handOver, func() error {
		for _, home := range s.homes {
			if left := home.Get(s.Things(), "a").GetFinalizers(); len(left) > 0 {
				return fmt.Errorf("%s/a has the finalizers %q", home.Namespace, left)
			}
		}
		if reports := s.Names(env.ConfigMaps, "libretto.dev/shard-reports"); len(reports) > 0 {
			return fmt.Errorf("there are reports: %q", reports)
		}
		return nil
	})
}

// TestShardsLeaveChildren takes a kind of children out of a definition. The owner of the definition says what is left in all shards, with one
// event for each.
func TestShardsLeaveChildren(t *testing.T) {
	s := newScene(t, "{}")
	s.write(`export const sync = ({parent, children}) => ({children: "ConfigMap.v1" in children ? [
  {apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name}, data: {value: "one"}}] : []});
export const finalize = () => ({children: [], finalized: true});`)
	s.start("first")
	s.start("second")
	s.waitForShares(2)
	s.waitForValues(map[string]int{"one": 2 * namespaces})
	s.WaitForColumns(env.Composite, s.Namespace, "True", "Loaded", fmt.Sprint(2*namespaces))

	s.PatchDefinition(env.Composite, s.Namespace, `{"spec": {"childResources": [{"apiVersion": "v1", "resource": "secrets"}]}}`)
	left := regexp.MustCompile(`took configmaps out of childResources while it looked after (\d+) of them`)
	count := func(text string) (all int) {
		for _, match := range left.FindAllStringSubmatch(text, -1) {
			n, err := strconv.Atoi(match[1])
			s.NoError(err)
			all += n
		}
		return all
	}
	var ready metav1.Condition
	cluster.Eventually(t, handOver, func() error {
		ready = s.WaitForCondition(s.Namespace, "Ready", "True", plan.ReasonChildResourceRemoved, "shard ")
		if got := count(ready.Message); got != 2*namespaces {
			return fmt.Errorf("Ready counts %d children, want %d: %s", got, 2*namespaces, ready.Message)
		}
		return nil
	})
	var events []string
	for line := range strings.Lines(ready.Message) {
		event := s.WaitForEvent(s.Namespace, plan.ReasonChildResourceRemoved, strings.TrimSuffix(line, "\n"))
		if events = append(events, event.Message); event.Count > 1 {
			t.Errorf("%d events %q", event.Count, event.Message)
		}
	}
	slices.Sort(events)
	if got := count(strings.Join(slices.Compact(events), "\n")); got != 2*namespaces {
		t.Errorf("events count %d children, want %d: %q", got, 2*namespaces, events)
	}
	if got := s.values(); got["one"] != 2*namespaces {
		t.Errorf("what is left behind was changed: %v", got)
	}
}

// TestShardsAreTakenOver kills a host, ends another, and starts a third: parents go on to be synced, by one host each.
func TestShardsAreTakenOver(t *testing.T) {
	s := newScene(t, "{}")
	first, second := s.start("first"), s.start("second")
	s.waitForShares(2)
	s.waitForValues(map[string]int{"one": 2 * namespaces})
	s.NoError(first.Kill())
	s.edit("two", "")
	s.waitForValues(map[string]int{"two": 2 * namespaces})
	s.waitForShares(1)
	s.start("third")
	s.waitForShares(2)
	s.NoError(second.Stop())
	s.edit("three", "")
	s.waitForValues(map[string]int{"three": 2 * namespaces})
	s.WaitForColumns(env.Composite, s.Namespace, "True", "Loaded", fmt.Sprint(2*namespaces))
}

// TestShardsRollOutInSteps has steps count the parents of all shards, and a parent of any shard that fails takes the edit back.
func TestShardsRollOutInSteps(t *testing.T) {
	s := newScene(t, "{steps: [{selector: {matchLabels: {tier: canary}}, pauseSeconds: 600}]}")
	for _, name := range []string{"first", "second"} {
		s.start(name, "--script-preview=false")
	}
	s.waitForShares(2)
	s.waitForValues(map[string]int{"one": 2 * namespaces})
	s.waitForPhase(v1alpha1.ScriptsComplete)
	s.edit("two", "")
	s.waitForValues(map[string]int{"one": namespaces, "two": namespaces})
	s.WaitForCondition(s.Namespace, "Progressing", "True", "RollingOut")
	s.define("{steps: [{selector: {matchLabels: {tier: canary}}}]}")
	s.waitForValues(map[string]int{"two": 2 * namespaces})
	s.waitForPhase(v1alpha1.ScriptsComplete)
	for n, home := range []int{0, namespaces / 3, namespaces * 2 / 3, namespaces - 1} { // These are not all of one shard.
		s.edit(fmt.Sprint("bad", n), s.homes[home].Namespace)
		s.waitForPhase(v1alpha1.ScriptsRolledBack)
		s.waitForValues(map[string]int{"two": 2 * namespaces})
		s.WaitForCondition(s.Namespace, "Progressing", "False", s.homes[home].Namespace)
	}
}
