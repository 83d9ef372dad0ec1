package related

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/controllers/parent/waiters"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/informer"
	"github.com/libretto-k8s/libretto/test/cluster"
)

// countedSelector counts how often it is matched.
type countedSelector struct {
	labels.Selector
	matches *int
}

// Matches counts.
func (s countedSelector) Matches(set labels.Labels) bool {
	*s.matches++
	return s.Selector.Matches(set)
}

// relatedScene is a Index whose parents are enqueued into a set.
type relatedScene struct {
	*Index
	t        *testing.T
	enqueued map[string]int
	matches  int
}

func newRelatedScene(t *testing.T, objects ...*unstructured.Unstructured) *relatedScene {
	t.Helper()
	kinds := map[schema.GroupVersionResource]string{parenttest.Gadgets.GroupVersionResource: "GadgetList", waiters.NamespaceResource: "NamespaceList"}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(scheme, kinds)
	for _, object := range objects {
		if err := client.Tracker().Add(object); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	s := &relatedScene{t: t, enqueued: map[string]int{}}
	s.Index = NewIndex(informer.NewPool(ctx, parenttest.WithoutWatchList{Interface: client}, logr.Discard()))
	s.Queue = func(key controller.Key) { s.enqueued[key.Name]++ }
	t.Cleanup(s.Close)
	return s
}

// ask has a parent ask by selectors; "in NAMESPACE: SELECTOR" is in one namespace.
func (s *relatedScene) ask(parent string, selectors ...string) {
	s.t.Helper()
	var rules []*Rule
	for _, text := range selectors {
		rule := &Rule{resource: parenttest.Gadgets}
		if in, rest, ok := strings.Cut(text, ": "); ok {
			rule.namespace, text = strings.TrimPrefix(in, "in "), rest
		}
		selector, err := labels.Parse(text)
		if err != nil {
			s.t.Fatal(err)
		}
		rule.selector = countedSelector{selector, &s.matches}
		rules = append(rules, rule)
	}
	s.askRules(parent, rules)
}

func (s *relatedScene) askRules(parent string, rules []*Rule) {
	s.t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": parent, "resourceVersion": "1"}}}
	if err := s.Set(controller.Key{Name: parent}, object, Request{Rules: rules}); err != nil {
		s.t.Fatal(err)
	}
}

// changed returns the parents that a change of an object enqueues, and how many selectors it matched.
func (s *relatedScene) changed(before, after *unstructured.Unstructured) (parents []string, matches int) {
	s.t.Helper()
	clear(s.enqueued)
	s.matches = 0
	s.event(parenttest.Gadgets.GroupVersionResource, informer.Event{Old: before, New: after})
	for name, n := range s.enqueued {
		if n > 1 {
			s.t.Errorf("%s is enqueued %d times", name, n)
		}
	}
	return slices.Sorted(maps.Keys(s.enqueued)), s.matches
}

// TestRelatedEventCost checks that an event matches the selectors that the index leads to, each once
// for all parents, and no others.
func TestRelatedEventCost(t *testing.T) {
	const parents = 500
	object := parenttest.Gadget("here", map[string]string{"app": "web", "tier": "front"})
	cases := map[string]struct {
		reason    string
		selectors func(parent int) []string
		matches   int
		enqueued  int
	}{
		"Equality": {
			"Only the parent with the label's value is looked at.",
			func(i int) []string {
				return []string{fmt.Sprintf("app=web-%d", i), fmt.Sprintf("app in (a-%d,b-%d)", i, i)}
			}, 0, 0,
		},
		"EqualEquality": {
			"Equal selectors are matched once.", func(int) []string { return []string{"app=web", "tier=front,app"} }, 2, parents,
		},
		"Keys": {
			"A label that has to be there is looked up by its key.",
			func(i int) []string { return []string{fmt.Sprintf("owner-%d", i), fmt.Sprintf("level-%d > 5,!x", i)} }, 0, 0,
		},
		"EqualNegations": {
			"Selectors that nothing narrows down are matched once each, if they are equal.",
			func(int) []string {
				return []string{"!app", "tier notin (front,back)", "tier notin (back,front)", "!tier"}
			}, 3, 0,
		},
		"Everything": {"So is the empty one.", func(int) []string { return []string{"", "!app"} }, 2, parents},
		"OtherNamespace": {
			"A selector in another namespace is not looked at.",
			func(i int) []string {
				return []string{fmt.Sprintf("in ns-%d: !owner", i), fmt.Sprintf("in ns-%d: app=web", i)}
			}, 0, 0,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newRelatedScene(t)
			for i := range parents {
				s.ask(fmt.Sprint("parent-", i), tc.selectors(i)...)
			}
			names, matches := s.changed(object, object)
			if len(names) != tc.enqueued || matches != tc.matches {
				t.Errorf("%s\n%d parents are enqueued and %d selectors matched, want %d and %d",
					tc.reason, len(names), matches, tc.enqueued, tc.matches)
			}
		})
	}
}

// TestRelatedEvent checks which parents are enqueued, also after some have asked anew.
func TestRelatedEvent(t *testing.T) {
	s := newRelatedScene(t)
	s.ask("equal", "app=web")
	s.ask("equal-too", "app=web", "tier=back")
	s.ask("key", "app")
	s.ask("negation", "!tier")
	s.ask("here", "in here: app=web")
	s.ask("there", "in there: app=web")
	s.ask("gone", "app=web")
	s.Forget(controller.Key{Name: "gone"})
	s.ask("moved", "app=web")
	s.ask("moved", "tier=x", "tier=x")
	s.ask("moved", "app=db", "app=db")
	s.ask("twice", "app=db", "app=web")
	s.ask("twice", "app=db", "app=web")
	web, db := parenttest.Gadget("here", map[string]string{"app": "web"}), parenttest.Gadget("here", map[string]string{"app": "db", "tier": "back"})
	steps := []struct {
		reason        string
		before, after *unstructured.Unstructured
		want          string
	}{
		{"An object comes.", nil, web, "equal equal-too here key negation twice"},
		{"Its labels change: both states count.", web, db, "equal equal-too here key moved negation twice"},
		{"It changes in other ways.", db, db, "equal-too key moved twice"},
		{"It goes.", db, nil, "equal-too key moved twice"},
		{"One in another namespace.", nil, parenttest.Gadget("there", map[string]string{"app": "web"}), "equal equal-too key negation there twice"},
		{"One of no interest to most.", nil, parenttest.Gadget("here", nil), "negation"},
	}
	for _, step := range steps {
		got, _ := s.changed(step.before, step.after)
		if diff := cmp.Diff(step.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s -want +got:\n%s", step.reason, diff)
		}
	}
}

// TestSharedRules checks that nothing is left of rules when the last parent is forgotten.
func TestSharedRules(t *testing.T) {
	s := newRelatedScene(t)
	for round := range 3 {
		for i := range 20 {
			s.ask(fmt.Sprint("parent-", i), "app=web", fmt.Sprintf("app=%d", (i+round)%7), "!tier")
		}
		if len(s.rules) != 9 || s.caches[cacheID{parenttest.Gadgets.GroupVersionResource, ""}].rules != 9 {
			t.Errorf("round %d: %d rules, of which the cache has %d, want 9", round, len(s.rules), s.caches[cacheID{parenttest.Gadgets.GroupVersionResource, ""}].rules)
		}
	}
	for i := range 20 {
		s.Forget(controller.Key{Name: fmt.Sprint("parent-", i)})
	}
	if n := len(s.rules) + len(s.index) + len(s.caches) + len(s.parents); n > 0 {
		t.Errorf("%d rules, %d index entries, %d caches and %d parents are left", len(s.rules), len(s.index), len(s.caches), len(s.parents))
	}
}

// TestRuleID checks that rules are equal only if they select the same by the same means.
func TestRuleID(t *testing.T) {
	web, err := labels.Parse("app=web")
	if err != nil {
		t.Fatal(err)
	}
	other := parenttest.Gadgets
	other.Version = "v2"
	rules := map[string]Rule{
		"All":              {resource: parenttest.Gadgets, selector: labels.Everything()},
		"None":             {resource: parenttest.Gadgets, selector: labels.Nothing()},
		"Version":          {resource: other, selector: labels.Everything()},
		"Namespace":        {resource: parenttest.Gadgets, selector: labels.Everything(), namespace: "web"},
		"Name":             {resource: parenttest.Gadgets, selector: labels.Everything(), names: map[string]bool{"web": true}},
		"Names":            {resource: parenttest.Gadgets, selector: labels.Everything(), names: map[string]bool{"web": true, "db": true}},
		"NamesInOne":       {resource: parenttest.Gadgets, selector: labels.Everything(), names: map[string]bool{`web" "db`: true}},
		"Labels":           {resource: parenttest.Gadgets, selector: web},
		"NamespaceLabels":  {resource: parenttest.Gadgets, selector: labels.Everything(), namespaces: web},
		"AnyNamespace":     {resource: parenttest.Gadgets, selector: labels.Everything(), namespaces: labels.Everything()},
		"LabelsOfBoth":     {resource: parenttest.Gadgets, selector: web, namespaces: web},
		"LabelsAnyInside":  {resource: parenttest.Gadgets, selector: web, namespaces: labels.Everything()},
		"NamesAndLabels":   {resource: parenttest.Gadgets, selector: web, names: map[string]bool{"web": true}},
		"EverythingInside": {resource: parenttest.Gadgets, selector: labels.Everything(), namespace: "web", namespaces: labels.Everything()},
	}
	seen := map[ruleID]string{}
	for name, rule := range rules {
		again := rule
		if again.id() != rule.id() {
			t.Errorf("%s differs from itself", name)
		}
		if other, known := seen[rule.id()]; known {
			t.Errorf("%s and %s are equal", name, other)
		}
		seen[rule.id()] = name
	}
}

// TestNamespaceEvent checks which parents are enqueued when a namespace comes, changes and goes. An object in it may
// have come first, and is not selected as long as its namespace is not known.
func TestNamespaceEvent(t *testing.T) {
	s := newRelatedScene(t)
	for parent, text := range map[string]string{"any": "", "prod": "env=prod", "no-prod": "env notin (prod)", "no-env": "!env"} {
		selector, err := labels.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		s.askRules(parent, []*Rule{{resource: parenttest.Gadgets, selector: labels.Everything(), namespaces: selector}})
	}
	in := func(env string) *unstructured.Unstructured {
		set := map[string]string{"kubernetes.io/metadata.name": "a"}
		if env != "" {
			set["env"] = env
		}
		o := parenttest.Namespace("a", false)
		o.SetLabels(set)
		return o
	}
	steps := []struct {
		reason        string
		before, after *unstructured.Unstructured
		want          string
	}{
		{"A namespace comes.", nil, in(""), "any no-env no-prod"},
		{"One with the label comes.", nil, in("prod"), "any prod"},
		{"It gets the label.", in(""), in("prod"), "no-env no-prod prod"},
		{"It gets another value.", in("prod"), in("test"), "no-prod prod"},
		{"It changes in other ways.", in("test"), in("test"), ""},
		{"It goes.", in("test"), nil, "any no-prod"},
	}
	for _, step := range steps {
		clear(s.enqueued)
		s.namespaceEvent(informer.Event{Old: step.before, New: step.after})
		if got := strings.Join(slices.Sorted(maps.Keys(s.enqueued)), " "); got != step.want {
			t.Errorf("%s %q are enqueued, want %q", step.reason, got, step.want)
		}
	}
}

// TestUnknownNamespace checks that no object is selected by the labels of a namespace that is not known yet.
func TestUnknownNamespace(t *testing.T) {
	one := parenttest.Gadget("unknown", nil)
	one.SetUID("gadget-uid")
	s := newRelatedScene(t, one)
	for _, text := range []string{"", "env notin (prod)", "!env"} {
		selector, err := labels.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for name, rule := range map[string]*Rule{
			"all":          {resource: parenttest.Gadgets, selector: labels.Everything(), namespaces: selector},
			"in namespace": {resource: parenttest.Gadgets, selector: labels.Everything(), namespaces: selector, namespace: "unknown"},
			"by name":      {resource: parenttest.Gadgets, selector: labels.Everything(), namespaces: selector, names: map[string]bool{"gadget": true}},
		} {
			rules := []*Rule{rule}
			s.askRules("parent", rules)
			var found []*unstructured.Unstructured
			cluster.Eventually(t, 20*time.Second, func() (err error) {
				found, _, err = s.Collect(controller.Key{Name: "parent"}, rules)
				return err
			})
			if len(found) > 0 {
				t.Errorf("%s, of %q: %d objects are selected", name, text, len(found))
			}
		}
	}
}
