package livedefinition

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic/fake"
	kubernetesfake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/livecluster"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

var composites = v1alpha1.DefinitionResource(v1alpha1.GroupVersion.WithKind(v1alpha1.CompositeControllerKind))

// idOf returns a whole ID whose digits are all the same.
func idOf(digit string) string { return strings.Repeat(digit, 64) }

// object returns a definition with more fields, in YAML.
func object(t *testing.T, kind, name, fields string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	text := fmt.Sprintf("apiVersion: metacontroller.k8s.io/v1alpha1\nkind: %s\nmetadata: {name: %s, uid: u, resourceVersion: \"1\", generation: 2%s", kind, name, fields)
	encoded, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = o.UnmarshalJSON(encoded)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// definitionWith returns a CompositeController hello.
func definitionWith(t *testing.T, fields string) *Definition {
	t.Helper()
	d, err := (&Client{Program: "libretto"}).decode(object(t, "CompositeController", "hello", fields))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// clientOf returns a client of a cluster with objects, and what it was warned of.
func clientOf(t *testing.T, objects ...*unstructured.Unstructured) (*Client, *fake.FakeDynamicClient, *[]string) {
	t.Helper()
	scheme, lists := runtime.NewScheme(), map[schema.GroupVersionResource]string{}
	for _, kind := range v1alpha1.DefinitionTypes() {
		lists[v1alpha1.DefinitionResource(kind)] = kind.Kind + "List"
	}
	var all []runtime.Object
	var namespaced []*unstructured.Unstructured // Their resource can't be guessed.
	for _, o := range objects {
		if o.GetNamespace() == "" {
			all = append(all, o)
		} else {
			namespaced = append(namespaced, o)
		}
	}
	dynamic := fake.NewSimpleDynamicClientWithCustomListKinds(scheme, lists, all...)
	for _, o := range namespaced {
		if err := dynamic.Tracker().Create(v1alpha1.DefinitionResource(o.GroupVersionKind()), o, o.GetNamespace()); err != nil {
			t.Fatal(err)
		}
	}
	var warnings []string
	return &Client{Dynamic: dynamic, Program: "libretto", Warn: func(text string) { warnings = append(warnings, text) }}, dynamic, &warnings
}

// forbid makes requests for a resource fail as those of a caller without rights do.
func forbid(client *fake.FakeDynamicClient, verb, resource string) {
	client.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		cause := fmt.Errorf("User \"a\" cannot %s resource %q in API group %q at the cluster scope", verb, resource, "metacontroller.k8s.io")
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Group: "metacontroller.k8s.io", Resource: resource}, "", cause)
	})
}

// TestFind looks definitions up by what users write.
func TestFind(t *testing.T) {
	namespaced := object(t, "CompositeController", "web", ", namespace: shop}")
	namespaced.SetAPIVersion(v1alpha1.NamespacedGroupVersion.String())
	c, _, _ := clientOf(t, object(t, "CompositeController", "hello", "}"), object(t, "MapController", "quotas", "}"),
		object(t, "CompositeController", "both", "}"), object(t, "DecoratorController", "both", "}"), namespaced)
	c.Namespace = "shop"
	for argument, want := range map[string]string{
		"hello":                          "CompositeController hello",
		"quotas":                         "MapController quotas",
		"compositecontroller/hello":      "CompositeController hello",
		"CompositeController/hello":      "CompositeController hello",
		"compositecontrollers/hello":     "CompositeController hello",
		"cc/hello":                       "CompositeController hello",
		"mctl/quotas":                    "MapController quotas",
		"decorators/both":                "DecoratorController both",
		"dec.metacontroller.k8s.io/both": "DecoratorController both",
		"both":                           "there are several definitions both: name one of compositecontroller/both, decoratorcontroller/both",
		"ncc/web":                        "CompositeController shop/web",
		"namespacedcompositecontrollers.libretto.dev/web": "CompositeController shop/web",
		"web":                           "CompositeController shop/web",
		"ncc.metacontroller.k8s.io/web": `"ncc.metacontroller.k8s.io/web" names no definition: write NAME, or KIND/NAME with compositecontroller, decoratorcontroller or mapcontroller; that of a definition with a namespace (-n) begins with namespaced`,
		"ndec/web":                      "there is no DecoratorController shop/web",
		"none":                          "there is no definition none of any kind: see kubectl get libretto",
		"mc/hello":                      "there is no MapController hello",
		"pods/hello":                    `"pods/hello" names no definition: write NAME, or KIND/NAME with compositecontroller, decoratorcontroller or mapcontroller; that of a definition with a namespace (-n) begins with namespaced`,
		"cc/":                           `"cc/" names no definition: write NAME, or KIND/NAME with compositecontroller, decoratorcontroller or mapcontroller; that of a definition with a namespace (-n) begins with namespaced`,
		"":                              "name a definition, as NAME or KIND/NAME",
	} {
		got := ""
		if d, err := c.Find(t.Context(), argument); err != nil {
			got = err.Error()
		} else {
			got = d.String()
		}
		if got != want {
			t.Errorf("%q: %s, want %s", argument, got, want)
		}
	}
	if got, want := c.Names(t.Context()), []string{"compositecontroller/both", "compositecontroller/hello", "decoratorcontroller/both", "mapcontroller/quotas", "namespacedcompositecontroller/web"}; !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
}

// TestFindWithoutRights may not read all kinds.
func TestFindWithoutRights(t *testing.T) {
	c, client, warnings := clientOf(t, object(t, "CompositeController", "hello", "}"))
	forbid(client, "get", "mapcontrollers")
	if d, err := c.Find(t.Context(), "hello"); err != nil || d.String() != "CompositeController hello" || len(*warnings) != 1 {
		t.Errorf("%v, error %v, warnings %q", d, err, *warnings)
	}
	var forbidden *livecluster.ForbiddenError
	if _, err := c.Find(t.Context(), "other"); !errors.As(err, &forbidden) || forbidden.Resource.Resource != "mapcontrollers" {
		t.Errorf("a name that no kind has: %v", err)
	}
}

const (
	parentsSynced = "{type: ParentsSynced, status: \"True\", reason: Synced, observedGeneration: 2, message: m}"
	loaded        = "conditions: [{type: ScriptsReady, status: \"True\", reason: Loaded, message: m}, " + parentsSynced + "]"
)

// TestRolloutStatus tells of definitions in all states.
func TestRolloutStatus(t *testing.T) {
	a, b, c := idOf("a"), idOf("b"), idOf("c")
	const unseen = "  next     if it stays so: see whether a host runs, and whether its --target-label-selector selects this definition\n"
	serving := "scriptRevision: aaaaaaaaaaaaaaaa, scriptRevisionHash: " + a + ", parents: 20, updatedParents: 20"
	for name, example := range map[string]struct {
		fields         string
		want           string
		ended, stopped bool
	}{
		"no host": {"}", "CompositeController hello: Progressing\n  why      no host has looked at it yet\n" + unseen, false, false},
		"a new spec": {"}\nstatus: {observedGeneration: 1, " + serving + ", " + loaded + "}",
			"CompositeController hello: Progressing\n  serves   aaaaaaaaaaaaaaaa\n  why      the host has not looked at generation 2 of the spec yet\n" + unseen, false, false},
		"complete": {"}\nstatus: {observedGeneration: 2, " + serving + ", " + loaded + "}",
			"CompositeController hello: Complete, revision aaaaaaaaaaaaaaaa serves all 20 parents\n", true, false},
		"webhooks": {"}\nstatus: {observedGeneration: 2, updatedParents: 0, conditions: [{type: ScriptsReady, status: \"True\", reason: NoScripts, message: no hook is a script}, " + parentsSynced + "]}",
			"CompositeController hello: Complete\n  why      no hook is a script\n", true, false},
		"held by the preview": {"}\nstatus: {observedGeneration: 2, " + serving + ", scriptRollout: {heldRevision: " + b + "}, conditions: [{type: ScriptsReady, status: \"True\", reason: Held, message: m}, " +
			"{type: Progressing, status: \"False\", reason: Held, message: \"revision b is held: it would delete\\nrevision a goes on; libretto rollout approve it\"}]}",
			"CompositeController hello: Held\n  serves   aaaaaaaaaaaaaaaa\n  held     bbbbbbbbbbbbbbbb\n" +
				"  why      revision b is held: it would delete\n           revision a goes on; libretto rollout approve it\n", true, true},
		"does not load": {"}\nstatus: {observedGeneration: 2, " + serving + ", conditions: [{type: ScriptsReady, status: \"False\", reason: LoadError, message: \"sync.js:1:2: \\u001b[31mno\"}]}",
			"CompositeController hello: NotReady\n  serves   aaaaaaaaaaaaaaaa\n  why      sync.js:1:2: \ufffd[31mno\n  next     correct the scripts\n", true, true},
		"the tests run": {"}\nstatus: {observedGeneration: 2, " + serving + ", conditions: [{type: ScriptsReady, status: Unknown, reason: Testing, message: tests run}]}",
			"CompositeController hello: Progressing\n  serves   aaaaaaaaaaaaaaaa\n  why      tests run\n", false, false},
		"a step": {"}\nstatus: {observedGeneration: 2, " + serving + ", scriptRollout: {phase: Progressing, stableRevision: " + a + ", updatedRevision: " + b + ", step: 2, steps: 4, updatedParents: 3, parents: 5}, " + loaded + "}",
			"CompositeController hello: Progressing, step 2 of 4, 3 of 5 parents of the step updated, 20 in all\n  stable   aaaaaaaaaaaaaaaa\n  updated  bbbbbbbbbbbbbbbb\n", false, false},
		"a step that matches no parent": {"}\nstatus: {observedGeneration: 2, " + serving + ", scriptRollout: {phase: Progressing, stableRevision: " + a + ", updatedRevision: " + b +
			", step: 1, steps: 2, updatedParents: 0, parents: 0, message: \"no parent has labels\"}, " + loaded + "}",
			"CompositeController hello: Progressing, step 1 of 2, 0 of 0 parents of the step updated, 20 in all\n  stable   aaaaaaaaaaaaaaaa\n  updated  bbbbbbbbbbbbbbbb\n  why      no parent has labels\n" +
				"  next     correct the selector or the labels, or go on to the next step: libretto rollout promote compositecontroller/hello\n", true, true},
		"the former text after a rollback": {"}\nstatus: {observedGeneration: 2, " + serving + ", scriptRollout: {phase: Complete, stableRevision: " + a + ", failedRevision: " + b +
			", message: \"Thing d/a: sync.js:2:1: no\"}, " + loaded + "}",
			"CompositeController hello: Complete, revision aaaaaaaaaaaaaaaa serves all 20 parents\n  failed   bbbbbbbbbbbbbbbb\n", true, false},
		"rolled back": {"}\nstatus: {observedGeneration: 2, " + serving + ", scriptRollout: {phase: RolledBack, stableRevision: " + a + ", failedRevision: " + b + ", message: \"Thing d/a: sync.js:2:1: no\"}, " + loaded + "}",
			"CompositeController hello: RolledBack\n  serves   aaaaaaaaaaaaaaaa\n  failed   bbbbbbbbbbbbbbbb\n  why      Thing d/a: sync.js:2:1: no\n" +
				"  next     correct the scripts, or let this revision through: libretto rollout approve compositecontroller/hello\n", true, true},
		"held by its failure policy": {"}\nspec: {scriptRollout: {paused: true}}\nstatus: {observedGeneration: 2, " + serving + ", scriptRollout: {phase: Held, stableRevision: " + a + ", updatedRevision: " + b + ", failedRevision: " + c + ", step: 1, steps: 2, message: \"no\"}, " + loaded + "}",
			"CompositeController hello: Held, step 1 of 2, 0 of 0 parents of the step updated, 20 in all\n  stable   aaaaaaaaaaaaaaaa\n  updated  bbbbbbbbbbbbbbbb\n  failed   cccccccccccccccc\n  why      no\n" +
				"  next     correct the scripts, or let this revision through: libretto rollout approve compositecontroller/hello\n" +
				"  next     go on: libretto rollout resume compositecontroller/hello\n", true, true},
		"held in the middle of an earlier rollout": {"}\nstatus: {observedGeneration: 2, " + serving + ", scriptRollout: {phase: Progressing, stableRevision: " + a +
			", updatedRevision: " + b + ", heldRevision: " + c + ", step: 1, steps: 2, updatedParents: 3, parents: 5}, " + loaded + "}",
			"CompositeController hello: Held, step 1 of 2, 3 of 5 parents of the step updated, 20 in all\n  stable   aaaaaaaaaaaaaaaa\n  updated  bbbbbbbbbbbbbbbb\n  held     cccccccccccccccc\n" +
				"  next     correct the scripts, or let this revision through: libretto rollout approve compositecontroller/hello\n", true, true},
		"broken after it was rolled back": {"}\nstatus: {observedGeneration: 2, " + serving + ", scriptRollout: {phase: RolledBack, stableRevision: " + a + ", failedRevision: " + b + "}, " +
			"conditions: [{type: ScriptsReady, status: \"False\", reason: LoadError, message: m}]}",
			"CompositeController hello: NotReady\n  serves   aaaaaaaaaaaaaaaa\n  failed   bbbbbbbbbbbbbbbb\n  why      m\n  next     correct the scripts\n", true, true},
		"pinned": {"}\nspec: {scriptRollout: {revision: " + a[:16] + "}}\nstatus: {observedGeneration: 2, " + serving + ", scriptRollout: {heldRevision: " + b + "}, " + loaded + "}",
			"CompositeController hello: Complete, revision aaaaaaaaaaaaaaaa serves all 20 parents\n  held     bbbbbbbbbbbbbbbb\n  pinned   aaaaaaaaaaaaaaaa\n" +
				"  next     let the newest scripts serve again: libretto rollback compositecontroller/hello --unpin\n", true, false},
		"a pin that does not serve yet": {"}\nspec: {scriptRollout: {revision: " + c + "}}\nstatus: {observedGeneration: 2, " + serving + ", " + loaded + "}",
			"CompositeController hello: Progressing\n  serves   aaaaaaaaaaaaaaaa\n  pinned   cccccccccccccccc\n" +
				"  next     let the newest scripts serve again: libretto rollback compositecontroller/hello --unpin\n", false, false},
		"a pin to what is not archived": {"}\nspec: {scriptRollout: {revision: " + c + "}}\nstatus: {observedGeneration: 2, " + serving + ", scriptRollout: {phase: Complete}, " +
			"conditions: [{type: ScriptsReady, status: \"True\", reason: RevisionUnavailable, message: m}, " +
			"{type: Progressing, status: \"False\", reason: RevisionUnavailable, message: \"no c; libretto rollback --unpin\"}]}",
			"CompositeController hello: RevisionUnavailable\n  serves   aaaaaaaaaaaaaaaa\n  pinned   cccccccccccccccc\n  why      no c; libretto rollback --unpin\n", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			status := definitionWith(t, example.fields).RolloutStatus(Wanted{})
			var text strings.Builder
			err := status.Write(&text)
			if diff := cmp.Diff(example.want, text.String()); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
			if status.Ended() != example.ended || status.Stopped() != example.stopped {
				t.Errorf("ended %t, stopped %t, want %t and %t", status.Ended(), status.Stopped(), example.ended, example.stopped)
			}
		})
	}
}

// TestWanted tells of one edit: it is complete once it serves, all parents have been synced by it, and none fails.
func TestWanted(t *testing.T) {
	a, b, c := idOf("a"), idOf("b"), idOf("c")
	const held = "{type: ScriptsReady, status: \"True\", reason: Held, message: m}"
	synced := func(generation int) string {
		return fmt.Sprintf("{type: ParentsSynced, status: \"True\", reason: Synced, observedGeneration: %d, message: m}", generation)
	}
	const ready = "{type: ScriptsReady, status: \"True\", reason: Loaded, message: m}"
	status := func(fields string, conditions ...string) string {
		return "}\nstatus: {observedGeneration: 2, scriptRevision: " + a[:16] + ", scriptRevisionHash: " + a + ", parents: 20" + fields +
			", conditions: [" + strings.Join(conditions, ", ") + "]}"
	}
	all := ", updatedParents: 20, observedScriptRevisionHash: "
	for name, c := range map[string]struct {
		wanted Wanted
		fields string
		want   string
	}{
		"it serves":                     {Wanted{Revision: a}, status(all+a, ready, synced(2)), "Complete"},
		"in short":                      {Wanted{Revision: a[:16]}, status(all+a, ready, synced(2)), "Complete"},
		"not read yet":                  {Wanted{Revision: b}, status(all+a, ready, synced(2)), "Progressing: the host has not read revision bbbbbbbbbbbbbbbb yet: the scripts hold aaaaaaaaaaaaaaaa, as it read them last"},
		"a file was missing":            {Wanted{Revision: b}, status(", updatedParents: 20", "{type: ScriptsReady, status: \"False\", reason: NotFound, message: m}", synced(2)), "Progressing: the host has not read revision bbbbbbbbbbbbbbbb yet: the scripts hold none, as it read them last"},
		"it does not load":              {Wanted{Revision: b}, status(all+b, "{type: ScriptsReady, status: \"False\", reason: LoadError, message: sync.js}", synced(2)), "NotReady: sync.js"},
		"being previewed":               {Wanted{Revision: b}, status(all+b, ready, synced(2)), "Progressing: the host has read revision bbbbbbbbbbbbbbbb, and decides about it"},
		"another one is held":           {Wanted{Revision: b}, status(all+b+", scriptRollout: {heldRevision: "+c+"}", held, synced(2)), "Progressing: the host has read revision bbbbbbbbbbbbbbbb, and decides about it"},
		"held":                          {Wanted{Revision: b}, status(all+b+", scriptRollout: {heldRevision: "+b+"}", held, synced(2)), "Held"},
		"another one is, and it serves": {Wanted{Revision: a}, status(all+b+", scriptRollout: {heldRevision: "+b+"}", held, synced(2)), "Complete"},
		"another one does not load":     {Wanted{Revision: a}, status(all+b, "{type: ScriptsReady, status: \"False\", reason: LoadError, message: sync.js}", synced(2)), "Complete"},
		"an edit of the definition is":  {Wanted{Revision: a}, status(all+a+", scriptRollout: {heldRevision: "+a+"}", held, synced(1)), "Held"},
		"taken back":                    {Wanted{Revision: b}, status(all+b+", scriptRollout: {phase: RolledBack, stableRevision: "+a+", failedRevision: "+b+", message: boom}", ready, synced(2)), "RolledBack: boom"},
		"another one was taken back":    {Wanted{Revision: b}, status(all+b+", scriptRollout: {phase: RolledBack, stableRevision: "+a+", failedRevision: "+c+", message: boom}", ready, synced(2)), "Progressing: the host has read revision bbbbbbbbbbbbbbbb, and decides about it"},
		"a pin":                         {Wanted{Revision: b}, "}\nspec: {scriptRollout: {revision: " + a[:16] + "}}" + strings.TrimPrefix(status(all+b, ready, synced(2)), "}"), "Pinned: revision aaaaaaaaaaaaaaaa is pinned, so that no other one begins"},
		"refused":                       {Wanted{Revision: a}, status(all+a, "{type: Accepted, status: \"False\", reason: Invalid, message: bad spec}", ready, synced(2)), "NotReady: bad spec"},
		"not all are synced by it":      {Wanted{Revision: a}, status(", updatedParents: 19, observedScriptRevisionHash: "+a, ready, synced(2)), "Progressing: 19 of 20 parents have been synced by it"},
		"it is not known how many":      {Wanted{Revision: a}, status(", observedScriptRevisionHash: "+a, ready, synced(2)), "Progressing: how many parents have been synced by it is not known yet"},
		"nor by the former spec":        {Wanted{Revision: a}, status(all+a, ready, synced(1)), "Progressing: how many parents have been synced by it is not known yet"},
		"the former spec serves":        {Wanted{Revision: a}, status(all+a, ready, synced(2), "{type: Ready, status: \"False\", reason: EarlierSpecServes, message: wait}"), "Progressing: wait"},
		"parents fail":                  {Wanted{Revision: a}, status(", failingParents: 3"+all+a, ready, strings.Replace(synced(2), "True", "False", 1)), "Failing: m"},
		"it never rests":                {Wanted{Revision: a}, status(all+a, ready, synced(2), "{type: Ready, status: \"False\", reason: HotLoop, message: round and round}"), "Failing: round and round"},
		"what is wanted is not known":   {Wanted{Err: errors.New("no right")}, status(all+a, ready, synced(2)), "Unknown: whether the host has read what the scripts hold is not known: no right\nname the revision with --revision, or its files with -f"},
		"what is wanted is broken":      {Wanted{Err: fmt.Errorf("%w: no file", livecluster.ErrBroken)}, status(all+a, ready, synced(2)), "Progressing: the host has not read what the scripts hold: they do not load: no file"},
		"which does not matter if held": {Wanted{Err: errors.New("no right")}, status(all+b+", scriptRollout: {heldRevision: "+b+"}", held, synced(2)), "Held"},
	} {
		t.Run(name, func(t *testing.T) {
			s := definitionWith(t, c.fields).RolloutStatus(c.wanted)
			if got := strings.TrimSuffix(s.Phase+": "+s.Message, ": "); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

// TestFollow follows a definition until it is complete, and sees that it is deleted.
func TestFollow(t *testing.T) {
	first := object(t, "CompositeController", "hello", "}")
	c, client, _ := clientOf(t, first)
	d, err := c.Find(t.Context(), "hello")
	if err != nil {
		t.Fatal(err)
	}
	watched := make(chan struct{})
	client.PrependWatchReactor("*", func(clienttesting.Action) (bool, watch.Interface, error) {
		w, err := client.Tracker().Watch(composites, "")
		close(watched)
		return true, w, err
	})
	go func() {
		<-watched
		complete := object(t, "CompositeController", "hello", "}\nstatus: {observedGeneration: 2, updatedParents: 0, "+loaded+"}")
		_ = client.Tracker().Update(composites, complete, "") // Follow would not end.
	}()
	var phases []string
	err = c.Follow(t.Context(), d, func(d *Definition) (bool, error) {
		phases = append(phases, d.RolloutStatus(Wanted{}).Phase)
		return !d.RolloutStatus(Wanted{}).Ended(), nil
	})
	if want := []string{"Progressing", "Complete"}; err != nil || !slices.Equal(phases, want) {
		t.Errorf("phases %q, error %v, want %q", phases, err, want)
	}
}

// patchOf returns the patch of a change as JSON, or "".
func patchOf(t *testing.T, c *Change) string {
	t.Helper()
	if c == nil || c.Patch == nil {
		return ""
	}
	text, err := json.Marshal(c.Patch)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestChanges decides on what commands write.
func TestChanges(t *testing.T) {
	a, b := idOf("a"), idOf("b")
	held := "}\nstatus: {parents: 20, scriptRevisionHash: " + a + ", scriptRollout: {heldRevision: " + b + "}}"
	approval := `{"metadata":{"annotations":{"metacontroller.k8s.io/approved-revision":"` + b + `"}}}`
	const argo = ", managedFields: [{manager: argocd-controller, operation: Apply, fieldsType: FieldsV1, fieldsV1: {\"f:spec\": {}}}, " +
		"{manager: libretto-rollout, operation: Update, fieldsType: FieldsV1, fieldsV1: {\"f:spec\": {}}}, " +
		"{manager: libretto, operation: Update, subresource: status, fieldsType: FieldsV1, fieldsV1: {\"f:spec\": {}}}]"
	const note = "the spec is also written by argocd-controller: if that is a GitOps tool, change it in its repository too"
	for name, c := range map[string]struct {
		before, now string
		decide      func(*Definition) Decide
		patch       string
		done, err   string
		notes       []string
	}{
		"approve what its failure policy holds": {"}\nspec: {scriptRollout: {steps: [{parents: 1}]}}\nstatus: {parents: 20, scriptRollout: {phase: Held, failedRevision: " + a + ", updatedRevision: " + b + "}}", "",
			func(d *Definition) Decide { return approve(d, "", "") }, approval, "CompositeController hello: revision bbbbbbbbbbbbbbbb is approved", "", []string{"it takes over now, for all 20 parents"}},
		"approve what is held": {held, "", func(d *Definition) Decide { return approve(d, "", "") }, approval,
			"CompositeController hello: revision bbbbbbbbbbbbbbbb is approved", "", []string{"it takes over now, for all 20 parents"}},
		"approve it by its first digits": {held, "", func(d *Definition) Decide { return approve(d, b[:16], "") }, approval,
			"CompositeController hello: revision bbbbbbbbbbbbbbbb is approved", "", []string{"it takes over now, for all 20 parents"}},
		"approve it in upper case, for a reason": {", annotations: {metacontroller.k8s.io/approval-reason: earlier}" + held, "",
			func(d *Definition) Decide { return approve(d, " "+strings.ToUpper(b), "CHG-1") },
			`{"metadata":{"annotations":{"metacontroller.k8s.io/approval-reason":"CHG-1","metacontroller.k8s.io/approved-revision":"` + b + `"}}}`,
			"CompositeController hello: revision bbbbbbbbbbbbbbbb is approved", "", []string{"it takes over now, for all 20 parents"}},
		"approve it for no reason": {", annotations: {metacontroller.k8s.io/approval-reason: earlier}" + held, "", func(d *Definition) Decide { return approve(d, "", "") },
			`{"metadata":{"annotations":{"metacontroller.k8s.io/approval-reason":null,"metacontroller.k8s.io/approved-revision":"` + b + `"}}}`,
			"CompositeController hello: revision bbbbbbbbbbbbbbbb is approved", "", []string{"it takes over now, for all 20 parents"}},
		"approve twice": {", annotations: {metacontroller.k8s.io/approved-revision: bbbbbbbbbbbbbbbb}" + held, "", func(d *Definition) Decide { return approve(d, "", "") }, "",
			"CompositeController hello: revision bbbbbbbbbbbbbbbb is approved already", "", []string{"it takes over now, for all 20 parents"}},
		"approve with steps, paused, pinned": {"}\nspec: {scriptRollout: {paused: true, revision: " + a + ", steps: [{parents: 1}]}}\nstatus: {scriptRollout: {phase: RolledBack, failedRevision: " + b + "}}", "",
			func(d *Definition) Decide { return approve(d, "", "") }, approval, "CompositeController hello: revision bbbbbbbbbbbbbbbb is approved", "", []string{
				"it is rolled out now, beginning with step 1 of 2", "not before the rollout goes on, as it is paused: libretto rollout resume compositecontroller/hello",
				"not while revision aaaaaaaaaaaaaaaa is pinned: libretto rollback compositecontroller/hello --unpin"}},
		"approve when another one is held meanwhile": {held, strings.ReplaceAll(held, b, idOf("c")), func(d *Definition) Decide { return approve(d, "", "") }, "", "",
			"CompositeController hello: while this was written, revision cccccccccccccccc took the place of bbbbbbbbbbbbbbbb: look at it with libretto rollout status compositecontroller/hello", nil},
		"approve when nothing is held any more": {held, "}", func(d *Definition) Decide { return approve(d, "", "") }, "", "",
			"CompositeController hello: while this was written, revision none took the place of bbbbbbbbbbbbbbbb: look at it with libretto rollout status compositecontroller/hello", nil},
		"approve what has failed since it was approved": {"}\nstatus: {parents: 20, scriptRollout: {phase: RolledBack, failedRevision: " + b + ", approvedRevision: " + b + "}}", "",
			func(d *Definition) Decide { return approve(d, "", "") }, approval, "CompositeController hello: revision bbbbbbbbbbbbbbbb is approved", "", []string{"it takes over now, for all 20 parents",
				"if a ConfigMap of its scripts approves it too, take that away first: only an approval that is newer than the failure counts"}},
		"approve nothing": {"}", "", func(d *Definition) Decide { return approve(d, "", "") }, "", "",
			"CompositeController hello: nothing is held or rolled back: there is nothing to approve", nil},
		"approve what comes": {"}", "", func(d *Definition) Decide { return approve(d, b, "") }, approval, "CompositeController hello: revision bbbbbbbbbbbbbbbb is approved", "",
			[]string{"it is not the one that waits: it takes over, whatever its preview says, once the scripts have that text"}},
		"approve what serves": {held, "", func(d *Definition) Decide { return approve(d, a[:16], "") }, "", "", "CompositeController hello: revision aaaaaaaaaaaaaaaa serves already", nil},
		"approve no ID":       {held, "", func(d *Definition) Decide { return approve(d, "yes", "") }, "", "", `"yes" is no revision: write its 64 digits, or the first 16`, nil},
		"pause": {argo + "}", "", func(*Definition) Decide { return Pause(true) }, `{"spec":{"scriptRollout":{"paused":true}}}`,
			"CompositeController hello: paused", "", []string{"no edit of its scripts begins, and no step ends", note}},
		"pause again": {"}\nspec: {scriptRollout: {paused: true}}", "", func(*Definition) Decide { return Pause(true) }, "",
			"CompositeController hello: not changed, as it is paused already", "", nil},
		"resume": {"}\nspec: {scriptRollout: {paused: true}}", "", func(*Definition) Decide { return Pause(false) }, `{"spec":{"scriptRollout":{"paused":null}}}`,
			"CompositeController hello: resumed", "", []string{"edits of its scripts are rolled out again"}},
		"resume again": {"}", "", func(*Definition) Decide { return Pause(false) }, "", "CompositeController hello: not changed, as it is not paused", "", nil},
		"roll back": {argo + held, "", func(d *Definition) Decide { return Pin(d, b) }, `{"spec":{"scriptRollout":{"revision":"` + b + `"}}}`,
			"CompositeController hello: rolled back to revision bbbbbbbbbbbbbbbb", "",
			[]string{
				"it serves all parents, whatever the scripts are, until it is unpinned; the inline scripts stay as they are",
				"to go on: correct the scripts, then libretto rollback compositecontroller/hello --unpin", note,
			}},
		"roll back again": {"}\nspec: {scriptRollout: {revision: bbbbbbbbbbbbbbbb}}", "", func(d *Definition) Decide { return Pin(d, b) }, "",
			"CompositeController hello: not changed, as revision bbbbbbbbbbbbbbbb is pinned already", "", nil},
		"roll back when another one serves meanwhile": {held, "}\nstatus: {scriptRevisionHash: " + idOf("c") + "}", func(d *Definition) Decide { return Pin(d, b) }, "", "",
			"CompositeController hello: while this was written, revision cccccccccccccccc took the place of aaaaaaaaaaaaaaaa: look at it with libretto history compositecontroller/hello", nil},
		"unpin": {"}\nspec: {scriptRollout: {revision: bbbbbbbbbbbbbbbb}}", "", func(*Definition) Decide { return Unpin }, `{"spec":{"scriptRollout":{"revision":null}}}`,
			"CompositeController hello: revision bbbbbbbbbbbbbbbb is not pinned any more", "", []string{"the newest scripts take over as an edit does; a text that has served before is not previewed again"}},
		"unpin again": {"}", "", func(*Definition) Decide { return Unpin }, "", "CompositeController hello: not changed, as no revision is pinned", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			first := definitionWith(t, c.before)
			now := first
			if c.now != "" {
				now = definitionWith(t, c.now)
			}
			change, err := c.decide(first)(now)
			if err != nil {
				if err.Error() != c.err {
					t.Errorf("error %v, want %s", err, c.err)
				}
				return
			}
			if diff := cmp.Diff([]string{c.done, c.err}, []string{change.Done, ""}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got := patchOf(t, change); got != c.patch {
				t.Errorf("patch %s, want %s", got, c.patch)
			}
			if diff := cmp.Diff(c.notes, change.Notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWrite writes while others do: it decides anew, and never writes what it has not looked at.
func TestWrite(t *testing.T) {
	held := func(digit string) *unstructured.Unstructured {
		return object(t, "CompositeController", "hello", "}\nstatus: {scriptRollout: {heldRevision: "+idOf(digit)+"}}")
	}
	for name, c := range map[string]struct {
		meanwhile *unstructured.Unstructured
		want      string
	}{
		"the same revision is held": {held("b"), ""},
		"another one is held":       {held("c"), "revision cccccccccccccccc took the place of bbbbbbbbbbbbbbbb"},
		"it is deleted":             {nil, "CompositeController hello was deleted meanwhile"},
	} {
		t.Run(name, func(t *testing.T) {
			client, fake, _ := clientOf(t, held("b"))
			d, err := client.Find(t.Context(), "hello")
			if err != nil {
				t.Fatal(err)
			}
			patches := 0
			resource := composites
			fake.PrependReactor("patch", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
				if !strings.Contains(string(action.(clienttesting.PatchAction).GetPatch()), `"resourceVersion":"1"`) {
					t.Errorf("the patch has no lock: %s", action.(clienttesting.PatchAction).GetPatch())
				}
				if patches++; patches > 1 {
					return false, nil, nil
				}
				if c.meanwhile == nil {
					_ = fake.Tracker().Delete(resource, "", "hello") // The test would fail.
				} else {
					_ = fake.Tracker().Update(resource, c.meanwhile, "")
				}
				return true, nil, apierrors.NewConflict(resource.GroupResource(), "hello", errors.New("it has changed"))
			})
			_, err = client.Approve(t.Context(), d, "", "", DryRunNone)
			if c.want == "" {
				now, found := client.Find(t.Context(), "hello")
				if err != nil || found != nil || now.Object.GetAnnotations()["metacontroller.k8s.io/approved-revision"] != idOf("b") || patches != 2 {
					t.Errorf("error %v, %d patches: %v", err, patches, now)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || patches != 1 {
				t.Errorf("error %v, %d patches, want %s", err, patches, c.want)
			}
		})
	}
}

// TestApproveAgain approves what has failed since it was approved: a host takes only an approval that it has not seen before.
func TestApproveAgain(t *testing.T) {
	failed := func(version, approved string) *unstructured.Unstructured {
		o := object(t, "CompositeController", "hello", ", annotations: {metacontroller.k8s.io/approved-revision: "+idOf("b")+
			"}}\nstatus: {scriptRollout: {phase: RolledBack, failedRevision: "+idOf("b")+", approvedRevision: \""+approved+"\"}}")
		o.SetResourceVersion(version)
		return o
	}
	client, fake, _ := clientOf(t, failed("1", idOf("b")))
	resource := composites
	fake.PrependWatchReactor("*", func(clienttesting.Action) (bool, watch.Interface, error) {
		w, err := fake.Tracker().Watch(resource, "")
		seen := failed("2", "") // The host has seen that the annotation is gone.
		seen.SetAnnotations(nil)
		go func() { _ = fake.Tracker().Update(resource, seen, "") }() // Approve would not end.
		return true, w, err
	})
	d, err := client.Find(t.Context(), "hello")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Approve(t.Context(), d, "", "", DryRunNone); err != nil {
		t.Fatal(err)
	}
	var patches []string
	for _, action := range fake.Actions() {
		if patch, isPatch := action.(clienttesting.PatchAction); isPatch {
			patches = append(patches, string(patch.GetPatch()))
		}
	}
	want := []string{
		`{"metadata":{"annotations":{"metacontroller.k8s.io/approved-revision":null},"resourceVersion":"1"}}`,
		`{"metadata":{"annotations":{"metacontroller.k8s.io/approved-revision":"` + idOf("b") + `"},"resourceVersion":"2"}}`,
	}
	if diff := cmp.Diff(want, patches); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestDryRun tries writes.
func TestDryRun(t *testing.T) {
	for dryRun, want := range map[DryRun]struct {
		patches int
		text    string
	}{
		DryRunNone:   {1, "CompositeController hello: paused\n  no edit of its scripts begins, and no step ends\n"},
		DryRunClient: {0, "CompositeController hello: paused (dry run)\n"},
		DryRunServer: {1, "CompositeController hello: paused (server dry run)\n"},
	} {
		c, client, _ := clientOf(t, object(t, "CompositeController", "hello", "}"))
		d, err := c.Find(t.Context(), "hello")
		if err != nil {
			t.Fatal(err)
		}
		change, err := c.Write(t.Context(), d, dryRun, Pause(true))
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := change.Write(&text, dryRun); err != nil || text.String() != want.text {
			t.Errorf("%s: %q, error %v", dryRun, text.String(), err)
		}
		patches := 0
		for _, action := range client.Actions() {
			if patch, isPatch := action.(clienttesting.PatchActionImpl); isPatch {
				if patches++; (dryRun == DryRunServer) != slices.Equal(patch.PatchOptions.DryRun, []string{"All"}) {
					t.Errorf("%s: options %v", dryRun, patch.PatchOptions)
				}
			}
		}
		if patches != want.patches {
			t.Errorf("%s: %d patches, want %d", dryRun, patches, want.patches)
		}
	}
}

// TestWriteWithoutRights names the right that is missing.
func TestWriteWithoutRights(t *testing.T) {
	c, client, _ := clientOf(t, object(t, "CompositeController", "hello", "}"))
	forbid(client, "patch", "compositecontrollers")
	d, err := c.Find(t.Context(), "hello")
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Write(t.Context(), d, DryRunNone, Pause(true))
	want := `you may not patch compositecontrollers.metacontroller.k8s.io in all namespaces: it takes a ClusterRole with the rule ` +
		`{apiGroups: ["metacontroller.k8s.io"], resources: [compositecontrollers], verbs: [patch]}`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestApproveWithoutRights names the rights that are missing, and asks for the right to approve only if the write is refused.
func TestApproveWithoutRights(t *testing.T) {
	const rule = `compositecontrollers.metacontroller.k8s.io in all namespaces: it takes a ClusterRole with the rule ` +
		`{apiGroups: ["metacontroller.k8s.io"], resources: [compositecontrollers], verbs: [`
	for name, c := range map[string]struct {
		reason  string
		cause   string // of the refusal
		allowed bool
		want    string
		reviews int
	}{
		"neither": {
			"the error of who may not patch names both rights", `User "a" cannot patch resource "compositecontrollers" in API group "metacontroller.k8s.io"`, false,
			"you may not patch " + rule + "patch]}\nwhere ValidatingAdmissionPolicy libretto-approve is applied, the verb approve too", 0,
		},
		"not approve": {
			"the policy has refused it", "ValidatingAdmissionPolicy 'libretto-approve' denied request", false,
			"you may not approve " + rule + "approve]}; ClusterRole libretto-approve has it: an administrator can bind it to you", 1,
		},
		"another policy": {
			"it says why", "no approvals on Fridays", true,
			`patch compositecontrollers.metacontroller.k8s.io: compositecontrollers.metacontroller.k8s.io "hello" is forbidden: no approvals on Fridays`, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			client, fake, _ := clientOf(t, object(t, "CompositeController", "hello", "}\nstatus: {scriptRollout: {heldRevision: "+idOf("b")+"}}"))
			fake.PrependReactor("patch", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewForbidden(composites.GroupResource(), "hello", errors.New(c.cause))
			})
			typed, reviews := kubernetesfake.NewSimpleClientset(), 0
			typed.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
				review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
				if asked := review.Spec.ResourceAttributes; asked.Verb != "approve" || asked.Resource != "compositecontrollers" || asked.Name != "hello" {
					t.Errorf("it asks for %+v", asked)
				}
				reviews++
				review.Status.Allowed = c.allowed
				return true, review, nil
			})
			client.Kubernetes = typed
			d, err := client.Find(t.Context(), "hello")
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.Approve(t.Context(), d, "", "", DryRunNone)
			if err == nil || err.Error() != c.want || reviews != c.reviews {
				t.Errorf("%s\nerror  %v\nwant   %s\n%d reviews, want %d", c.reason, err, c.want, reviews, c.reviews)
			}
		})
	}
}
