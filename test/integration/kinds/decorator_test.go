package kinds

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/cluster"
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

const attachments = "attachments: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]"

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
	w := newScene(t)
	name := w.define(decorator, "", fmt.Sprintf(`resources:
- {apiVersion: %s/v1, resource: things, labelSelector: {matchLabels: {decorate: "yes"}}}
- {apiVersion: v1, resource: services, labelSelector: {matchLabels: {decorate: "yes"}}}
- {apiVersion: apps/v1, resource: deployments, labelSelector: {matchLabels: {decorate: "yes"}}}
- {apiVersion: v1, resource: namespaces, labelSelector: {matchLabels: {kubernetes.io/metadata.name: %s}}}`, w.Group, w.Namespace), attachments, hooks(attaching, "sync"))
	w.object("Thing", "web", `decorate: "yes"`, "")
	w.Apply(`{apiVersion: v1, kind: Service, metadata: {name: web, labels: {decorate: "yes"}}, spec: {ports: [{port: 80}]}}`)
	w.Apply(deployment)
	w.Apply(`{apiVersion: v1, kind: Service, metadata: {name: other}, spec: {ports: [{port: 80}]}}`)

	things := w.resource("Thing")
	w.WaitFor(env.ConfigMaps, "thing-web", ownedBy(w.WaitFor(things, "web", hasAnnotation("seen", "Thing"))))
	w.WaitFor(env.ConfigMaps, "service-web", ownedBy(w.WaitFor(services, "web", hasAnnotation("seen", "Service"))))
	w.WaitFor(env.ConfigMaps, "deployment-web", ownedBy(w.WaitFor(deployments, "web", hasAnnotation("seen", "Deployment"))))
	namespace := w.ClusterScope().WaitFor(namespaces, w.Namespace, hasAnnotation("seen", "Namespace"))
	w.WaitFor(env.ConfigMaps, "namespace-"+w.Namespace, ownedBy(namespace))
	w.WaitFor(env.ConfigMaps, "thing-web", hasAnnotation(marker, name))
	w.mustColumns(decorator, name, "True", "Loaded", "4")

	// A pass that changes nothing writes nothing.
	w.WaitForQuiet()
	mark, before := w.Mark(), w.passes(decorator, name)
	w.Patch(services, "web", `{"metadata": {"labels": {"touched": "yes"}}}`)
	w.Patch(env.ConfigMaps, "thing-web", `{"metadata": {"labels": {"touched": "yes"}}}`)
	w.mustPasses(decorator, name, before+2)
	w.WaitForQuiet()
	if writes := w.Requests(mark).Writes(); len(writes) > 0 {
		t.Errorf("passes that change nothing write:\n%s", writes)
	}
	if other := w.Get(services, "other"); other.GetAnnotations()["seen"] != "" || w.Get(env.ConfigMaps, "service-other") != nil {
		t.Errorf("an object that no rule selects is decorated: %v", other.Object)
	}

	// Attachments follow the hook, and go with their object.
	w.Patch(env.ConfigMaps, "thing-web", `{"data": {"text": "drifted"}}`)
	w.WaitFor(env.ConfigMaps, "thing-web", hasText("web"))
	w.Delete(things, w.Namespace, "web")
	w.WaitForDeletion(env.ConfigMaps, "thing-web", "")
	w.WaitFor(env.ConfigMaps, "service-web", nil)
}

func TestDecoratorSelectors(t *testing.T) {
	w := newScene(t)
	name := w.define(decorator, "", fmt.Sprintf(`resources:
- {apiVersion: %[1]s/v1, resource: things, labelSelector: {matchLabels: {a: "1"}}, annotationSelector: {matchAnnotations: {b: "1"}}}
- {apiVersion: %[1]s/v1, resource: things, labelSelector: {matchLabels: {c: "1"}}}
- {apiVersion: %[1]s/v1, resource: things, annotationSelector: {matchExpressions: [{key: d, operator: In, values: [x, z]}]}}`, w.Group), attachments, hooks(attaching, "sync"))
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
		w.Apply(fmt.Sprintf("{apiVersion: %s/v1, kind: Thing, metadata: {name: %s, labels: {%s}, annotations: {%s}}}", w.Group, name, tc.labels, tc.annotations))
		if tc.decorated {
			want = append(want, "thing-"+name)
		}
	}
	slices.Sort(want)
	decorated := func() []string {
		return slices.DeleteFunc(w.names(env.ConfigMaps, ""), func(name string) bool { return !strings.HasPrefix(name, "thing-") })
	}
	cluster.Eventually(t, env.Timeout, func() error {
		if got := decorated(); !slices.Equal(got, want) {
			return fmt.Errorf("attachments are %q, want %q", got, want)
		}
		return nil
	})
	w.mustColumns(decorator, name, "True", "Loaded", "4")
	w.WaitForQuiet()
	if got := decorated(); !slices.Equal(got, want) {
		t.Errorf("attachments are %q in the end, want %q", got, want)
	}
	// An annotation makes one more match, and one less.
	w.Patch(w.resource("Thing"), "none", `{"metadata": {"annotations": {"d": "x"}}}`)
	w.WaitFor(env.ConfigMaps, "thing-none", nil)
	w.mustColumns(decorator, name, "True", "Loaded", "5")
	w.Patch(w.resource("Thing"), "both", `{"metadata": {"annotations": {"b": null}}}`)
	w.mustColumns(decorator, name, "True", "Loaded", "4")
}

// answering gives what the object says in spec.answer, as JSON.
const answering = `export const sync = ({object}) => JSON.parse(object.spec.answer);`

// decorated applies a Thing whose decorator answers that.
func (w *scene) decorated(name, answer string) {
	w.T.Helper()
	w.Apply(fmt.Sprintf("{apiVersion: %s/v1, kind: Thing, metadata: {name: %s}, spec: {answer: %s}}", w.Group, name, env.Quote(answer)))
}

func TestDecoratorLabelsAndAnnotations(t *testing.T) {
	w := newScene(t)
	w.define(decorator, "", fmt.Sprintf("resources: [{apiVersion: %s/v1, resource: things}]", w.Group), hooks(answering, "sync"))
	things := w.resource("Thing")
	has := func(want string) func(*unstructured.Unstructured) error {
		return func(o *unstructured.Unstructured) error {
			if got := fmt.Sprint(o.GetLabels(), o.GetAnnotations()); got != want {
				return fmt.Errorf("labels and annotations are %s, want %s", got, want)
			}
			return nil
		}
	}
	w.decorated("a", `{}`)
	w.Patch(things, "a", `{"metadata": {"labels": {"own": "1", "drop": "1"}, "annotations": {"own": "1", "drop": "1"}}}`)
	w.decorated("a", `{"labels": {"set": "1", "drop": null, "never": null}, "annotations": {"set": "1", "drop": null}}`)
	w.WaitFor(things, "a", has("map[own:1 set:1] map[own:1 set:1]"))
	w.decorated("a", `{"labels": {"set": "2"}, "annotations": null}`)
	w.WaitFor(things, "a", has("map[own:1 set:2] map[own:1 set:1]"))
	w.decorated("a", `{"labels": {"set": null}}`)
	w.WaitFor(things, "a", has("map[own:1] map[own:1 set:1]"))
	w.decorated("a", `{"labels": {"set": 1}}`)
	w.WaitForEvent("a", "SyncError", "HookResponseInvalid: sync hook: ", `labels["set"]: must be a string`)
	w.WaitFor(things, "a", has("map[own:1] map[own:1 set:1]"))
}

func TestDecoratorStatus(t *testing.T) {
	w := newScene(t)
	w.define(decorator, "", fmt.Sprintf("resources: [{apiVersion: %s/v1, resource: things}]", w.Group), hooks(answering, "sync"))
	things := w.resource("Thing")
	has := func(want string) func(*unstructured.Unstructured) error {
		return func(o *unstructured.Unstructured) error {
			if got := fmt.Sprint(o.Object["status"]); got != want {
				return fmt.Errorf("status is %s, want %s", got, want)
			}
			return nil
		}
	}
	w.decorated("a", `{}`)
	w.Patch(things, "a", `{"status": {"count": 7, "said": "theirs"}}`, "status")
	for n, answer := range []string{`{"labels": {"n": "0"}}`, `{"labels": {"n": "1"}, "status": null}`} {
		w.decorated("a", answer)
		w.WaitFor(things, "a", func(o *unstructured.Unstructured) error {
			if o.GetLabels()["n"] != fmt.Sprint(n) {
				return fmt.Errorf("the answer %s has not been heeded", answer)
			}
			return nil
		})
		w.WaitForQuiet()
		if err := has("map[count:7 said:theirs]")(w.Get(things, "a")); err != nil {
			t.Error(err)
		}
	}
	w.decorated("a", `{"status": {"said": "ours"}}`)
	w.WaitFor(things, "a", has("map[said:ours]"))
	w.decorated("a", `{"status": {}}`)
	w.WaitFor(things, "a", has("map[]"))
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
	w := newScene(t)
	target := fmt.Sprintf("resources: [{apiVersion: %s/v1, resource: things}]", w.Group)
	one := w.define(decorator, "-one", target, attachments, hooks(attachingNamed("-one", "one"), "sync"))
	two := w.define(decorator, "-two", target, attachments, hooks(attachingNamed("-two", "two"), "sync"))
	parent := w.object("Thing", "a", "", "")
	for text, name := range map[string]string{"one": one, "two": two} {
		w.WaitFor(w.resource("Thing"), "a", hasAnnotation(text, w.Namespace+"/a-"+text))
		w.WaitFor(env.ConfigMaps, "a-"+text, ownedBy(parent))
		w.WaitFor(env.ConfigMaps, "a-"+text, hasAnnotation(marker, name))
	}
	w.WaitForQuiet()

	// One that wants the other's attachment is refused it, and told why.
	w.define(decorator, "-two", target, attachments, hooks(attachingNamed("-one", "two"), "sync"))
	w.WaitForDeletion(env.ConfigMaps, "a-two", "")
	w.WaitForEvent("a", "AlreadyOwned", "ConfigMap "+w.Namespace+"/a-one", "another definition made it")
	w.WaitFor(env.ConfigMaps, "a-one", hasText("one"))

	// What was attached by a definition that is gone stays.
	w.Delete(definitionsOf(decorator), "", one)
	w.define(decorator, "-two", target, attachments, hooks(attachingNamed("-two", "two"), "sync"))
	w.WaitFor(env.ConfigMaps, "a-two", ownedBy(parent))
	w.WaitFor(env.ConfigMaps, "a-one", ownedBy(parent))
}

// What nobody owns is not a decorator's, be it marked as its own.
func TestDecoratorNeverAdopts(t *testing.T) {
	w := newScene(t)
	name := w.Namespace
	w.Apply(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: a-one, annotations: {%s: %s}}, data: {text: found}}", marker, name))
	w.define(decorator, "", fmt.Sprintf("resources: [{apiVersion: %s/v1, resource: things}]", w.Group), attachments, hooks(attachingNamed("-one", "made"), "sync"))
	w.object("Thing", "a", "", "")
	event := w.WaitForEvent("a", "AlreadyOwned", "ConfigMap "+w.Namespace+"/a-one", "has no owner")
	if strings.Contains(event.Message, "so that it is adopted") {
		t.Errorf("the event %q advises an adoption, which there is none of", event.Message)
	}
	found := w.Get(env.ConfigMaps, "a-one")
	if err := errors.Join(ownedBy(nil)(found), hasText("found")(found)); err != nil {
		t.Error(err)
	}
	w.Delete(env.ConfigMaps, w.Namespace, "a-one")
	w.WaitFor(env.ConfigMaps, "a-one", hasText("made"))
}

// Related objects are shown to decorators too, whose customize hook is asked about a "parent".
func TestDecoratorWithRelatedObjects(t *testing.T) {
	w := newScene(t)
	w.define(decorator, "", fmt.Sprintf("resources: [{apiVersion: %s/v1, resource: things}]", w.Group), hooks(`
export const customize = ({parent}) => ({relatedResources: [{apiVersion: "v1", resource: "namespaces", names: [parent.metadata.namespace]}]});
export const sync = ({object, related}) => ({labels: {tier: related["Namespace.v1"][object.metadata.namespace].metadata.labels.tier ?? null}});`, "sync", "customize"))
	w.object("Thing", "a", "", "")
	for _, tier := range []string{"front", "back"} {
		w.label(w.Namespace, `{"tier": "`+tier+`"}`)
		w.WaitFor(w.resource("Thing"), "a", func(o *unstructured.Unstructured) error {
			if got := o.GetLabels()["tier"]; got != tier {
				return fmt.Errorf("label tier is %q, want %q", got, tier)
			}
			return nil
		})
	}
}
