package kinds

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/env"
)

// marker is metacontroller's annotation on attachments.
const marker = "metacontroller.k8s.io/decorator-controller"

// attaching annotates an object, and attaches a ConfigMap to it that is named after it.
const attaching = `
export function sync({object: {kind, metadata}}) {
  const name = kind.toLowerCase() + "-" + metadata.name, namespace = metadata.namespace ?? metadata.name;
  return {annotations: {seen: kind}, attachments: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name, namespace}, data: {text: metadata.name}}]};
}`

const attachments = "attachments: [" + env.UpdatedConfigMaps + "]"

// deployment has no replicas, as nothing would run them.
const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {decorate: "yes"}}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web}]}`

func TestDecoratesSeveralKinds(t *testing.T) {
	e := env.NewRunning(t)
	name := e.DefineReady(env.Decorator, "", fmt.Sprintf(`resources:
- {apiVersion: %s/v1, resource: things, labelSelector: {matchLabels: {decorate: "yes"}}}
- {apiVersion: v1, resource: services, labelSelector: {matchLabels: {decorate: "yes"}}}
- {apiVersion: apps/v1, resource: deployments, labelSelector: {matchLabels: {decorate: "yes"}}}
- {apiVersion: v1, resource: namespaces, labelSelector: {matchLabels: {kubernetes.io/metadata.name: %s}}}`, e.Group, e.Namespace), attachments, env.Hooks(attaching, "sync"))
	e.ApplyThing("web", `decorate: "yes"`, "")
	e.Apply(`{apiVersion: v1, kind: Service, metadata: {name: web, labels: {decorate: "yes"}}, spec: {ports: [{port: 80}]}}`)
	e.Apply(deployment)
	e.Apply(`{apiVersion: v1, kind: Service, metadata: {name: other}, spec: {ports: [{port: 80}]}}`)

	things := e.Things()
	e.WaitFor(env.ConfigMaps, "thing-web", env.OwnedBy(e.WaitFor(things, "web", env.HasAnnotation("seen", "Thing"))))
	e.WaitFor(env.ConfigMaps, "service-web", env.OwnedBy(e.WaitFor(env.Services, "web", env.HasAnnotation("seen", "Service"))))
	e.WaitFor(env.ConfigMaps, "deployment-web", env.OwnedBy(e.WaitFor(env.Deployments, "web", env.HasAnnotation("seen", "Deployment"))))
	namespace := e.ClusterScope().WaitFor(env.Namespaces, e.Namespace, env.HasAnnotation("seen", "Namespace"))
	e.WaitFor(env.ConfigMaps, "namespace-"+e.Namespace, env.OwnedBy(namespace))
	e.WaitFor(env.ConfigMaps, "thing-web", env.HasAnnotation(marker, name))
	e.WaitForColumns(env.Decorator, name, "True", "Loaded", "4")

	// A pass that changes nothing writes nothing.
	e.WaitForQuiet()
	mark, before := e.Mark(), e.ReconcilesOf(env.Decorator, name, "success")
	e.Patch(env.Services, "web", `{"metadata": {"labels": {"touched": "yes"}}}`)
	e.Patch(env.ConfigMaps, "thing-web", `{"metadata": {"labels": {"touched": "yes"}}}`)
	e.WaitForReconcilesOf(env.Decorator, name, before+2)
	e.WaitForQuiet()
	e.NoRequests(e.Requests(mark).Writes(), "passes that change nothing write")
	if other := e.Get(env.Services, "other"); other.GetAnnotations()["seen"] != "" || e.Get(env.ConfigMaps, "service-other") != nil {
		t.Errorf("an object that no rule selects is decorated: %v", other.Object)
	}

	// Attachments follow the hook, and go with their object.
	e.Patch(env.ConfigMaps, "thing-web", `{"data": {"text": "drifted"}}`)
	e.WaitFor(env.ConfigMaps, "thing-web", env.HasText("web"))
	e.Delete(things, e.Namespace, "web")
	e.WaitForDeletion(env.ConfigMaps, "thing-web", "")
	e.WaitFor(env.ConfigMaps, "service-web", nil)
}

func TestDecoratorSelectors(t *testing.T) {
	e := env.NewRunning(t)
	name := e.DefineReady(env.Decorator, "", fmt.Sprintf(`resources:
- {apiVersion: %[1]s/v1, resource: things, labelSelector: {matchLabels: {a: "1"}}, annotationSelector: {matchAnnotations: {b: "1"}}}
- {apiVersion: %[1]s/v1, resource: things, labelSelector: {matchLabels: {c: "1"}}}
- {apiVersion: %[1]s/v1, resource: things, annotationSelector: {matchExpressions: [{key: d, operator: In, values: [x, z]}]}}`, e.Group), attachments, env.Hooks(attaching, "sync"))
	cases := map[string]struct {
		labels, annotations string
		decorated           bool
	}{
		"none":           {},
		"label-only":     {labels: `a: "1"`},
		"annotated-only": {annotations: `b: "1"`},
		"both":           {labels: `a: "1"`, annotations: `b: "1"`, decorated: true},
		"second-rule":    {labels: `c: "1"`, decorated: true},
		"third-rule":     {annotations: `d: z`, decorated: true},
		"third-not":      {annotations: `d: other`},
		"all":            {labels: `a: "1", c: "1"`, annotations: `b: "1", d: x`, decorated: true},
	}
	var want []string
	for name, tc := range cases {
		e.Apply(fmt.Sprintf("{apiVersion: %s/v1, kind: Thing, metadata: {name: %s, labels: {%s}, annotations: {%s}}}", e.Group, name, tc.labels,
			tc.annotations))
		if tc.decorated {
			want = append(want, "thing-"+name)
		}
	}
	slices.Sort(want)
	decorated := func() []string {
		return slices.DeleteFunc(e.Names(env.ConfigMaps, ""), func(name string) bool { return !strings.HasPrefix(name, "thing-") })
	}
	e.Eventually(func() error {
		if got := decorated(); !slices.Equal(got, want) {
			return fmt.Errorf("attachments are %q, want %q", got, want)
		}
		return nil
	})
	e.WaitForColumns(env.Decorator, name, "True", "Loaded", "4")
	e.WaitForQuiet()
	if got := decorated(); !slices.Equal(got, want) {
		t.Errorf("attachments are %q in the end, want %q", got, want)
	}
	// An annotation makes one more match, and one less.
	e.Patch(e.Things(), "none", `{"metadata": {"annotations": {"d": "x"}}}`)
	e.WaitFor(env.ConfigMaps, "thing-none", nil)
	e.WaitForColumns(env.Decorator, name, "True", "Loaded", "5")
	e.Patch(e.Things(), "both", `{"metadata": {"annotations": {"b": null}}}`)
	e.WaitForColumns(env.Decorator, name, "True", "Loaded", "4")
}

// answering returns what the object says in spec.answer, as JSON.
const answering = `export const sync = ({object}) => JSON.parse(object.spec.answer);`

// decorated applies a Thing whose decorator answers that.
func decorated(e *env.Env, name, answer string) {
	e.T.Helper()
	e.Apply(fmt.Sprintf("{apiVersion: %s/v1, kind: Thing, metadata: {name: %s}, spec: {answer: %s}}", e.Group, name, env.Quote(answer)))
}

func TestDecoratorLabelsAndAnnotations(t *testing.T) {
	e := env.NewRunning(t)
	e.DefineReady(env.Decorator, "", e.Targets("things", ""), env.Hooks(answering, "sync"))
	things := e.Things()
	has := func(want string) func(*unstructured.Unstructured) error {
		return func(o *unstructured.Unstructured) error {
			if got := fmt.Sprint(o.GetLabels(), o.GetAnnotations()); got != want {
				return fmt.Errorf("labels and annotations are %s, want %s", got, want)
			}
			return nil
		}
	}
	decorated(e, "a", `{}`)
	e.Patch(things, "a", `{"metadata": {"labels": {"own": "1", "drop": "1"}, "annotations": {"own": "1", "drop": "1"}}}`)
	decorated(e, "a", `{"labels": {"set": "1", "drop": null, "never": null}, "annotations": {"set": "1", "drop": null}}`)
	e.WaitFor(things, "a", has("map[own:1 set:1] map[own:1 set:1]"))
	decorated(e, "a", `{"labels": {"set": "2"}, "annotations": null}`)
	e.WaitFor(things, "a", has("map[own:1 set:2] map[own:1 set:1]"))
	decorated(e, "a", `{"labels": {"set": null}}`)
	e.WaitFor(things, "a", has("map[own:1] map[own:1 set:1]"))
	decorated(e, "a", `{"labels": {"set": 1}}`)
	e.WaitForEvent("a", "SyncError", "HookResponseInvalid: sync hook: ", `labels["set"]: must be a string`)
	e.WaitFor(things, "a", has("map[own:1] map[own:1 set:1]"))
}

func TestDecoratorStatus(t *testing.T) {
	e := env.NewRunning(t)
	e.DefineReady(env.Decorator, "", e.Targets("things", ""), env.Hooks(answering, "sync"))
	things := e.Things()
	decorated(e, "a", `{}`)
	e.Patch(things, "a", `{"status": {"count": 7, "said": "theirs"}}`, "status")
	for n, answer := range []string{`{"labels": {"n": "0"}}`, `{"labels": {"n": "1"}, "status": null}`} {
		decorated(e, "a", answer)
		e.WaitFor(things, "a", env.HasField(n, "metadata", "labels", "n"))
		e.WaitForQuiet()
		if err := env.HasField("map[count:7 said:theirs]", "status")(e.Get(things, "a")); err != nil {
			t.Error(err)
		}
	}
	decorated(e, "a", `{"status": {"said": "ours"}}`)
	e.WaitFor(things, "a", env.HasField("map[said:ours]", "status"))
	decorated(e, "a", `{"status": {}}`)
	e.WaitFor(things, "a", env.HasField("map[]", "status"))
}

// attachingNamed attaches one ConfigMap, and says in an annotation of the object what it is shown.
func attachingNamed(name, text string) string {
	return fmt.Sprintf(`
export const sync = ({object, attachments}) => ({
  annotations: {[%[2]q]: Object.keys(attachments["ConfigMap.v1"]).join()},
  attachments: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: object.metadata.name + %[1]q}, data: {text: %[2]q}}],
});`, name, text)
}

func TestDecoratorsOnOneObject(t *testing.T) {
	e := env.NewRunning(t, "--script-preview=false") // The edit that makes the parent fail would be held.
	target := e.Targets("things", "")
	one := e.DefineReady(env.Decorator, "-one", target, attachments, env.Hooks(attachingNamed("-one", "one"), "sync"))
	two := e.DefineReady(env.Decorator, "-two", target, attachments, env.Hooks(attachingNamed("-two", "two"), "sync"))
	parent := e.ApplyThing("a", "", "")
	for text, name := range map[string]string{"one": one, "two": two} {
		e.WaitFor(e.Things(), "a", env.HasAnnotation(text, e.Namespace+"/a-"+text))
		e.WaitFor(env.ConfigMaps, "a-"+text, env.OwnedBy(parent))
		e.WaitFor(env.ConfigMaps, "a-"+text, env.HasAnnotation(marker, name))
	}
	e.WaitForQuiet()

	// One that wants the other's attachment is refused it, and an event says why.
	e.DefineReady(env.Decorator, "-two", target, attachments, env.Hooks(attachingNamed("-one", "two"), "sync"))
	e.WaitForDeletion(env.ConfigMaps, "a-two", "")
	e.WaitForEvent("a", "SyncError", "AlreadyOwned: ConfigMap "+e.Namespace+"/a-one", "another definition made it")
	e.WaitFor(env.ConfigMaps, "a-one", env.HasText("one"))

	// What was attached by a definition that is gone stays.
	e.Delete(env.Definitions(env.Decorator), "", one)
	e.DefineReady(env.Decorator, "-two", target, attachments, env.Hooks(attachingNamed("-two", "two"), "sync"))
	e.WaitFor(env.ConfigMaps, "a-two", env.OwnedBy(parent))
	e.WaitFor(env.ConfigMaps, "a-one", env.OwnedBy(parent))
}

// A decorator does not adopt an object without an owner, even with its own marker.
func TestDecoratorNeverAdopts(t *testing.T) {
	e := env.NewRunning(t)
	name := e.Namespace
	e.Apply(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: a-one, annotations: {%s: %s}}, data: {text: found}}", marker,
		name))
	e.DefineReady(env.Decorator, "", e.Targets("things", ""), attachments, env.Hooks(attachingNamed("-one", "made"), "sync"))
	e.ApplyThing("a", "", "")
	event := e.WaitForEvent("a", "SyncError", "AlreadyOwned: ConfigMap "+e.Namespace+"/a-one", "has no owner")
	if strings.Contains(event.Message, "so that it is adopted") {
		t.Errorf("the event %q advises an adoption, which there is none of", event.Message)
	}
	found := e.Get(env.ConfigMaps, "a-one")
	if err := errors.Join(env.OwnedBy(nil)(found), env.HasText("found")(found)); err != nil {
		t.Error(err)
	}
	e.Delete(env.ConfigMaps, e.Namespace, "a-one")
	e.WaitFor(env.ConfigMaps, "a-one", env.HasText("made"))
}

// Related objects are shown to decorators too, whose customize hook is asked about a "parent".
func TestDecoratorWithRelatedObjects(t *testing.T) {
	e := env.NewRunning(t)
	e.DefineReady(env.Decorator, "", e.Targets("things", ""), env.Hooks(`
export const customize = ({parent}) => ({relatedResources: [{apiVersion: "v1", resource: "namespaces", names: [parent.metadata.namespace]}]});
export const sync = ({object, related}) => ({labels: {tier: related["Namespace.v1"][object.metadata.namespace].metadata.labels.tier ?? null}});`, "sync", "customize"))
	e.ApplyThing("a", "", "")
	for _, tier := range []string{"front", "back"} {
		label(e, e.Namespace, `{"tier": "`+tier+`"}`)
		e.WaitFor(e.Things(), "a", env.HasField(tier, "metadata", "labels", "tier"))
	}
}
