package scriptcheck

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/standard"
)

const crd = `
spec:
  group: example.com
  names: {kind: App}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              image: {type: string}
              replicas: {type: integer}
              size: {x-kubernetes-int-or-string: true}
              tier: {type: string, enum: [Free, Paid]}
              ports: {type: array, items: {type: object, properties: {port: {type: integer}}}}
              labels: {type: object, additionalProperties: {type: string}}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              empty: {type: object}
              pod: {type: object, x-kubernetes-embedded-resource: true, properties: {data: {type: string}}}
          status: {type: object, properties: {ready: {type: integer}}}
`

// TestWatch checks what an editor is told of the fields that a script names.
func TestWatch(t *testing.T) {
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal([]byte(strings.Replace(crd, "image: {type: string}", "image: {type: string, description: The image.}", 1)), &definition); err != nil {
		t.Fatal(err)
	}
	app := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "App"}
	h := Hook{Definition: "CompositeController", Name: "sync", Parents: []schema.GroupVersionKind{app}, Children: []schema.GroupVersionKind{{Version: "v1", Kind: "Pod"}}}
	const text = `export function sync({ parent, children }) {
  const pods = children["Pod.v1"];
  return { status: { ready: parent.spec.image.length }, children: [{ apiVersion: "v1", kind: "Pod", metadata: { name: parent.nothing } }] };
}`
	got := map[string]string{}
	c := New(&definition)
	c.Watch = func(m Member) {
		f, known := m.Field()
		if m.Name == "parent" {
			got["type"] = m.Type()
		}
		got[m.Path+" "+m.Name] = fmt.Sprint(known, " ", f.Type, " ", f.Doc != "", " ", len(m.Fields()))
	}
	c.Check(h, outlineOf(t, h, "sync.js", text), func(at engines.Location) (engines.Location, bool) { return at, true })
	want := map[string]string{
		"type": "CompositeRequest", "request parent": "true an object false 6", "request children": "true an object false 6", "children Pod.v1": "true an object false 1",
		"parent spec": "true an object false 5", "parent.spec image": "true a string true 9", " status": "true an object false 9", "status ready": "true an integer false 1",
		"Pod metadata": "true an object true 5", "Pod.metadata name": "true a string true 15", "parent nothing": "false  false 5",
	}
	for name, said := range want {
		if name == "type" && got[name] != said || name != "type" && !strings.HasPrefix(got[name], said[:strings.LastIndex(said, " ")]) {
			t.Errorf("%s: %q, want %q", name, got[name], said)
		}
	}
	m, ok := c.At(app, "spec", "ports", "[]")
	if !ok || !slices.Equal(m.Names(), []string{"port"}) {
		t.Errorf("an item of ports has %v", m.Names())
	}
	if m, ok = c.At(app, "spec", "tier"); !ok || !slices.Equal(m.Values(), []string{"Free", "Paid"}) {
		t.Errorf("tier is one of %v", m.Values())
	}
	if _, ok = c.At(app, "spec", "none"); ok {
		t.Error("there is a field that there is not")
	}
	if m, ok = c.At(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, "spec", "template", "spec", "containers", "[]"); !ok || len(m.Fields()) < 10 {
		t.Errorf("a container has %v", m.Names())
	}
}

// outlineOf returns the outline of a script.
func outlineOf(t *testing.T, h Hook, path, text string) *engines.Outline {
	t.Helper()
	registry, err := engines.NewRegistry(engines.Config{}, standard.Scripts()...)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := registry.ForPath(path)
	if err != nil {
		t.Fatal(err)
	}
	script := &engines.Script{Files: engines.Files{path: text}, Path: path, Outline: true, Signature: h.Signature}
	p, err := engine.Compile(t.Context(), engines.Source{Hook: h.Name, Script: script})
	if err != nil {
		t.Fatal(err)
	}
	outline, err := engines.UnmarshalOutline(p.Outline().Marshal())
	if err != nil || outline == nil {
		t.Fatalf("no outline: %v", err)
	}
	return outline
}

// found returns what is found in a script of the hook sync, without its places.
func found(t *testing.T, h Hook, path, text string) []string {
	t.Helper()
	outline := outlineOf(t, h, path, text)
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal([]byte(crd), &definition); err != nil {
		t.Fatal(err)
	}
	c := New(&definition)
	c.Check(h, outline, func(at engines.Location) (engines.Location, bool) { return at, at.File == path })
	var all []string
	for _, f := range c.Findings() {
		message, _, _ := strings.Cut(f.Message, ": there")
		message, _, _ = strings.Cut(message, ": did you mean")
		all = append(all, message)
	}
	return all
}

var (
	app        = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "App"}
	configMap  = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	deployment = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	composite  = Hook{
		Definition: "CompositeController", Name: "sync",
		Parents: []schema.GroupVersionKind{app}, Children: []schema.GroupVersionKind{configMap, deployment},
	}
)

func TestReads(t *testing.T) {
	for name, c := range map[string]struct {
		reason, code string
		want         []string
	}{
		"a typo":        {"the field is not there", "parent.spec.imgae", []string{"parent.spec.imgae"}},
		"brackets":      {"they are the way out", "parent.spec['imgae']", nil},
		"optional":      {"a chain is a read", "parent.status?.redy", []string{"parent.status.redy"}},
		"or empty":      {"an empty object has no fields either", "(parent.status ?? {}).redy", []string{"parent.status.redy"}},
		"in":            {"a name in quotes before in is one of a field", "'redy' in parent.status", []string{"parent.status.redy"}},
		"map":           {"any key is one", "parent.spec.labels.any", nil},
		"open":          {"unknown fields are kept", "parent.spec.free.any.thing", nil},
		"empty":         {"a schema without fields is not finished", "parent.spec.empty.any", nil},
		"metadata":      {"all objects have it", "parent.metadata.deletionTimestamp + parent.metadata.labels.a + parent.metadata.uuid", []string{"parent.metadata.uuid"}},
		"embedded":      {"so do embedded ones", "parent.spec.pod.metadata.name + parent.spec.pod.data + parent.spec.pod.spec", []string{"parent.spec.pod.spec"}},
		"scalar":        {"a number has no fields", "parent.spec.replicas.count", []string{"parent.spec.replicas.count: parent.spec.replicas is an integer, which has no fields"}},
		"methods":       {"strings and lists have methods", "parent.spec.image.trim().length + parent.spec.image.length + parent.spec.ports.length + parent.spec.hasOwnProperty('a')", nil},
		"list":          {"a list has no fields of its elements", "parent.spec.ports.port", []string{"parent.spec.ports.port: parent.spec.ports is a list, which has no fields"}},
		"element":       {"an element has", "parent.spec.ports[0].port + parent.spec.ports.at(-1).prot", []string{"parent.spec.ports[].prot"}},
		"callback":      {"the parameter is an element", "parent.spec.ports.filter((p) => p.port > 1).map(({ prot }) => prot)", []string{"parent.spec.ports[].prot"}},
		"sorted":        {"it is the same list", "[...parent.spec.ports].sort((a, b) => a.port - b.port).find((p) => p.prot)", []string{"parent.spec.ports[].prot"}},
		"object's map":  {"it may have any key", "parent.spec.labels.map ?? 1", nil},
		"group":         {"groups are those of the definition", "children['ConfigMaps.v1']", []string{`children["ConfigMaps.v1"]: the definition has no such group`}},
		"key in a name": {"a constant is followed", "((key) => Object.values(children[key]).map((d) => d.spec.replica))('Deployment.apps/v1')", []string{`children["Deployment.apps/v1"][].spec.replica`}},
		"two kinds":     {"a field that one of them has is right", "Object.values(children).flatMap((g) => Object.values(g)).map((o) => o.spec?.replicas ?? o.data ?? o.dta)", []string{`children["Deployment.apps/v1"][].dta`}},
		"two callers":   {"a function may be called with objects of several kinds", "[parent, Object.values(children['ConfigMap.v1'])[0]].map((o) => get(o)) && get(parent)", nil},
		"related":       {"the key says the kind", "Object.values(related['Secret.v1']).map((s) => s.stringDate) + related['Other.example.org/v1'].a.b", []string{`related["Secret.v1"][].stringDate`}},
		"request":       {"its fields are known too", "request.childs", []string{"childs"}},
		"written":       {"the script may have written it", "(parent.spec.extra = 1) && parent.spec.extra", nil},
		"assigned":      {"so may Object.assign", "Object.assign(parent.status, { extra: 1 }) && parent.status.extra", nil},
		"own object":    {"what a script makes has any fields", "({ a: 1 }).b", nil},
		"variable":      {"nothing is known of one that is assigned to", "(v = parent.spec) && v.imgae", nil},
		"word":          {"a word of no enumeration", "parent.spec.tier === 'Gold'", []string{`parent.spec.tier never is "Gold"`}},
		"either word":   {"one of several may be right", "['Gold', 'Free'].some((word) => parent.spec.tier === word)", nil},
		"empty word":    {"it asks whether there is one", "parent.spec.tier === ''", nil},
		"types":         {"they are never equal", "parent.spec.replicas === '3'", []string{"parent.spec.replicas is an integer, which never equals a string"}},
		"loosely":       {"3 == '3'", "parent.spec.replicas == '3'", nil},
		"int or string": {"it may be both", "parent.spec.size === 3 || parent.spec.size === '3'", nil},
		"null":          {"anything may be null", "parent.spec.replicas === null || parent.spec.replicas === undefined", nil},
		"newer":         {"Kubernetes may have got it", "Object.values(children['Deployment.apps/v1']).map((d) => d.spec.somethingElse)", []string{`children["Deployment.apps/v1"][].spec.somethingElse`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			text := "let v; const get = (o) => o.spec?.image ?? o.data;\n" +
				"export function sync(request) { const { parent, children, related } = request; v = 1; console.log(" + c.code + "); return { children: [] }; }"
			if diff := cmp.Diff(c.want, found(t, composite, "sync.js", text)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	const start, end = "{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a' }, ", " }"
	for name, c := range map[string]struct {
		reason, answer string
		want           []string
	}{
		"right":           {"all fits", "children: [" + start + "spec: { replicas: 3, strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: '10%' } } }" + end + "]", nil},
		"type":            {"a number in quotes", "children: [" + start + "spec: { replicas: '3' }" + end + "]", []string{"Deployment.spec.replicas must be an integer, and is a string"}},
		"type of a field": {"the schema of what is read is known", "children: [" + start + "spec: { replicas: parent.spec.image }" + end + "]", []string{"Deployment.spec.replicas must be an integer, and is a string"}},
		"field":           {"it does not exist", "children: [" + start + "spec: { replica: 3 }" + end + "]", []string{"Deployment.spec.replica"}},
		"computed":        {"a name in brackets is the way out", "children: [" + start + "spec: { ['replica']: 3 }" + end + "]", nil},
		"label":           {"labels are strings", "children: [" + start + "metadata: { name: 'a', labels: { a: 1, b: null } }" + end + "]", []string{"Deployment.metadata.labels.a must be a string, and is an integer"}},
		"pushed":          {"an object is checked where it is made", "children: push([], " + start + "spec: { replicas: true }" + end + ")", []string{"Deployment.spec.replicas must be an integer, and is a boolean"}},
		"no object":       {"a reference has a kind too", "status: { ready: 1 }, children: [], ref: undefined && { apiVersion: 'apps/v1', kind: 'Deployment', name: 'a' }", []string{"ref"}},
		"assigned":        {"it may have become right", "children: [fix(" + start + "spec: { replicas: '3' }" + end + ")]", nil},
		"replaced":        {"what follows may replace it", "children: [" + start + "spec: { replicas: '3', ...push() }" + end + "]", nil},
		"status":          {"it is the parent's", "status: { ready: 'no', redy: 1 }, children: []", []string{"status.ready must be an integer, and is a string", "status.redy"}},
		"null":            {"it removes a field", "status: null, children: [" + start + "spec: { replicas: null }" + end + "]", nil},
		"response":        {"it has fields of its own", "childs: [], resyncAfterSeconds: '5', events: [{ reason: 'A', msg: 'a' }]", []string{"childs", "resyncAfterSeconds must be a number, and is a string", "events[].msg"}},
		"undeclared":      {"the host refuses it", "children: [{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' } }]", []string{"the definition does not list the resource of Secret.v1, and the host refuses the answer"}},
		"other version":   {"it is another resource", "children: [parent.spec.image && { apiVersion: 'apps/v1beta1', kind: 'Deployment', metadata: { name: 'a' } }]", []string{"the definition does not list the resource of Deployment.apps/v1beta1, and the host refuses the answer"}},
		"unknown kind":    {"nothing is known of it", "children: [{ apiVersion: 'v1', kind: parent.spec.image, metadata: { name: 'a' } }]", nil},
		"list":            {"children are a list", "children: {}", []string{"children must be a list, and is an object"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			text := "const push = globalThis.push; const fix = (o) => { o.spec = { replicas: 3 }; return o; };\n" +
				"export const sync = ({ parent }) => ({ " + c.answer + " });"
			if diff := cmp.Diff(c.want, found(t, composite, "sync.js", text)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestNamespaces checks that children of a parent in no namespace must name theirs.
func TestNamespaces(t *testing.T) {
	h := composite
	h.Placed = []schema.GroupVersionKind{configMap}
	for name, c := range map[string]struct {
		reason, metadata string
		want             []string
	}{
		"none":    {"the host refuses it", "{ name: 'a' }", []string{"ConfigMap is in a namespace, and the parent in none: set metadata.namespace"}},
		"one":     {"it is there", "{ name: 'a', namespace: 'b' }", nil},
		"unknown": {"it may have one", "parent.metadata", nil},
		"spread":  {"it may have one", "{ name: 'a', ...parent.spec.free }", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			text := "export const sync = ({ parent }) => ({ children: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: " + c.metadata + " }," +
				" { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a' } }] });"
			if diff := cmp.Diff(c.want, found(t, h, "sync.js", text)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestJsonnet checks how parts of Jsonnet are followed.
func TestJsonnet(t *testing.T) {
	for name, c := range map[string]struct {
		code string
		want []string
	}{
		"field":         {"parent.spec.imgae", []string{"parent.spec.imgae"}},
		"brackets":      {"parent.spec['imgae']", nil},
		"local":         {"local s = parent.spec; s.imgae", []string{"parent.spec.imgae"}},
		"function":      {"local f(o, n=1) = o.spec.imgae + n; f(n=2, o=parent)", []string{"parent.spec.imgae"}},
		"get":           {"std.get(parent.spec, 'imgae', 'x')", []string{"parent.spec.imgae"}},
		"get of get":    {"std.get(std.get(parent, 'status', {}), 'redy', 0)", []string{"parent.status.redy"}},
		"has":           {"std.objectHas(parent.spec, 'imgae')", []string{"parent.spec.imgae"}},
		"in":            {"'imgae' in parent.spec", []string{"parent.spec.imgae"}},
		"comprehension": {"[p.prot for p in parent.spec.ports if p.port > 1]", []string{"parent.spec.ports[].prot"}},
		"map":           {"std.map(function(p) p.prot, std.filter(function(p) p.port > 1, parent.spec.ports))", []string{"parent.spec.ports[].prot"}},
		"values":        {"[d.spec.replica for d in std.objectValues(children['Deployment.apps/v1'])]", []string{`children["Deployment.apps/v1"][].spec.replica`}},
		"helper":        {"[d.spec.replica for d in (import 'libretto').objectsOf(children, 'apps/v1', 'Deployment')]", []string{`children["Deployment.apps/v1"][].spec.replica`}},
		"group":         {"children['Pod.v1']", []string{`children["Pod.v1"]: the definition has no such group`}},
		"map of keys":   {"std.mapWithKey(function(k, v) v, parent.spec.labels)", nil},
		"equal":         {"parent.spec.replicas == '3'", []string{"parent.spec.replicas is an integer, which never equals a string"}},
		"unequal":       {"parent.spec.tier != 'Gold'", []string{`parent.spec.tier never is "Gold"`}},
		"times":         {"parent.spec.image * 2", []string{"parent.spec.image is a string, which does not go with an integer"}},
		"own object":    {"{ a:: 1, b: self.a, c: $.b }.c", nil},
		"error":         {"(if parent == null then error 'x' else parent).spec.imgae", []string{"parent.spec.imgae"}},
		"child":         {"{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { a: 1 }, dta: {}, ['any']: 1, hidden:: 1 }", []string{"ConfigMap.data.a must be a string, and is an integer", "ConfigMap.dta"}},
		"extended":      {"{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } } + { metadata+: { label: {} }, data+: { a: 'b' } }", []string{"ConfigMap.metadata.label"}},
		"format":        {"{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '%s-%d' % [parent.metadata.nam, 1] } }", []string{"parent.metadata.nam"}},
	} {
		t.Run(name, func(t *testing.T) {
			text := "function(request) local parent = request.parent, children = request.children; { children: [" + c.code + "] }"
			if diff := cmp.Diff(c.want, found(t, composite, "sync.jsonnet", text)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestCEL checks how parts of CEL are followed.
func TestCEL(t *testing.T) {
	for name, c := range map[string]struct {
		code string
		want []string
	}{
		"field":       {"parent.spec.imgae", []string{"parent.spec.imgae"}},
		"brackets":    {"parent.spec['imgae']", nil},
		"request":     {"request.parent.spec.imgae", []string{"parent.spec.imgae"}},
		"optional":    {"parent.spec.?imgae.orValue('x')", []string{"parent.spec.imgae"}},
		"has":         {"has(parent.spec.imgae)", []string{"parent.spec.imgae"}},
		"in":          {"'imgae' in parent.spec", []string{"parent.spec.imgae"}},
		"label":       {"parent.metadata.labels['any'] + parent.metadata.labels.any", nil},
		"map":         {"parent.spec.ports.filter(p, p.port > 1).map(p, p.prot)", []string{"parent.spec.ports[].prot"}},
		"exists":      {"parent.spec.ports.exists(p, p.prot == 1)", []string{"parent.spec.ports[].prot"}},
		"keys":        {"children['Deployment.apps/v1'].map(k, children['Deployment.apps/v1'][k].spec.replica)", []string{`children["Deployment.apps/v1"][].spec.replica`}},
		"key, value":  {"children['Deployment.apps/v1'].transformList(k, d, d.spec.replica + k.size())", []string{`children["Deployment.apps/v1"][].spec.replica`}},
		"bind":        {"cel.bind(s, parent.spec, s.imgae)", []string{"parent.spec.imgae"}},
		"group":       {"children['Pod.v1'].size()", []string{`children["Pod.v1"]: the definition has no such group`}},
		"equal":       {"parent.spec.replicas == '3'", []string{"parent.spec.replicas is an integer, which never equals a string"}},
		"null":        {"parent.spec.replicas == null || dyn(parent.spec.size) == 'x'", nil},
		"word":        {"parent.spec.tier in ['Gold', 'Silver']", []string{`parent.spec.tier never is "Silver"`}},
		"one word":    {"parent.spec.tier in ['Gold', 'Free']", nil},
		"sum":         {"parent.spec.image + 1", []string{"parent.spec.image is a string, which does not go with an integer"}},
		"numbers":     {"parent.spec.replicas + 1 > 2 && parent.spec.replicas < 1.5", nil},
		"lists":       {"parent.spec.ports + [{'port': 1}]", nil},
		"child":       {"{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'a'}, 'data': {'a': string(1), 'b': 1}, 'd' + 'ta': 1}", []string{"ConfigMap.data.b must be a string, and is an integer"}},
		"merge":       {"merge({'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'a'}}, {'dta': {'a': 'b'}})", []string{"ConfigMap.dta"}},
		"conditional": {"(parent.spec.replicas > 1 ? parent.spec : parent.status).imgae", []string{"parent.status.imgae"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, found(t, composite, "sync.cel", "{'children': [dyn("+c.code+")]}")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestHooks checks the requests of other hooks, and other ways to a function.
func TestHooks(t *testing.T) {
	pods := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	for name, c := range map[string]struct {
		hook       Hook
		path, text string
		want       []string
	}{
		"decorator": {
			Hook{Definition: "DecoratorController", Name: "sync", Parents: []schema.GroupVersionKind{pods, deployment}}, "sync.js",
			"export default { sync: ({ object, attachments }) => ({ attachments: [object.spec.replicas, object.spec.nodeName, object.spec.nodename] && [] }) };",
			[]string{"object.spec.nodename"},
		},
		"customize": {
			Hook{Definition: "CompositeController", Name: "customize", Parents: []schema.GroupVersionKind{app}}, "sync.js",
			"exports.customize = ({ parent, children }) => ({ relatedResources: [{ apiVersion: 'v1', resource: 'secrets', name: parent.spec.secret }] });",
			[]string{"children", "relatedResources[].name", "parent.spec.secret"},
		},
		"map": {
			Hook{Definition: "MapController", Name: "map", Parents: []schema.GroupVersionKind{app}, Inputs: []schema.GroupVersionKind{configMap}}, "sync.jsonnet",
			"{ map(request): { outputs: [request.input.dta, request.parent.spec.image] } }", []string{"input.dta"},
		},
		"context": {
			Hook{Definition: "CompositeController", Name: "sync", Parents: []schema.GroupVersionKind{app}, Signature: engines.HTTPContext}, "sync.js",
			"module.exports = async (context) => ({ status: 200, body: { childs: [context.request.body.parent.spec.imgae] } });",
			[]string{"body.childs", "context.request.body.parent.spec.imgae"},
		},
		"unknown kind": {
			Hook{Definition: "CompositeController", Name: "sync", Parents: []schema.GroupVersionKind{{Group: "other.org", Version: "v1", Kind: "Other"}}, Children: []schema.GroupVersionKind{{Group: "a.org"}}},
			"sync.js", "export const sync = ({ parent, children }) => ({ status: { a: parent.spec.a }, children: [children['B.a.org/v1'].c] });", nil,
		},
		"unknown hook": {Hook{Definition: "CompositeController", Name: "preUpdateChild"}, "a.js", "export const preUpdateChild = (r) => r.any;", nil},
		"document": {
			composite, "sync.cel.yaml", "variables:\n- {name: spec, value: {image: \"${parent.spec.imgae}\"}}\nresponse:\n  children:\n" +
				"  - ${forEach d}: ${children['Deployment.apps/v1'].map(k, children['Deployment.apps/v1'][k])}\n    ${if}: ${has(parent.spec.tire)}\n" +
				"    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: a}\n    data: {a: \"${d.spec.replica}\", b: \"${variables.spec.image}\"}\n    dta: {}\n",
			[]string{"parent.spec.imgae", "parent.spec.tire", `children["Deployment.apps/v1"][].spec.replica`, "ConfigMap.dta"},
		},
		"expression": {
			composite, "sync.cel", "{'status': {'ready': parent.spec.?image.orValue('x')}, 'children': parent.spec.ports.map(p, p.prot)}",
			[]string{"status.ready must be an integer, and is a string", "parent.spec.ports[].prot"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, found(t, c.hook, c.path, c.text)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestHostile checks that no outline that a worker may send makes the checker fail or go on for long.
func TestHostile(t *testing.T) {
	deep := &engines.OutlineStep{Op: engines.OutlineUnknown}
	for range 20_000 {
		deep = &engines.OutlineStep{Op: engines.OutlineMerge, Parts: []*engines.OutlineStep{deep, nil}}
	}
	doubled := func(first *engines.OutlineStep, op engines.OutlineOp, part engines.OutlineOp) *engines.OutlineStep {
		let := engines.NewOutlineStep(engines.OutlineLet, "", engines.NewOutlineStep(engines.OutlineBind, "a0", first))
		for i := range 60 {
			name := engines.NewOutlineStep(engines.OutlineName, fmt.Sprint("a", i))
			both := engines.NewOutlineStep(op, "", engines.NewOutlineStep(part, "", name), engines.NewOutlineStep(part, "", name))
			let.Parts = append(let.Parts, engines.NewOutlineStep(engines.OutlineBind, fmt.Sprint("a", i+1), both))
		}
		let.Parts = append(let.Parts, engines.NewOutlineStep(engines.OutlineObject, "",
			engines.NewOutlineStep(engines.OutlineField, "children", engines.NewOutlineStep(engines.OutlineName, "a60"))))
		return let
	}
	item := engines.NewOutlineStep(engines.OutlineList, "", engines.NewOutlineStep(engines.OutlineNumber, "1"))
	word := engines.NewOutlineStep(engines.OutlineString, "word")
	ops := []engines.OutlineOp{"", "none"}
	for op := range strings.FieldsSeq("? null bool number string is name import . (). [] element values keys entries each same choice function call object field field+ ... list merge block let bind assign return export == === +") {
		ops = append(ops, engines.OutlineOp(op))
	}
	roots := []*engines.OutlineStep{
		nil, deep, doubled(item, engines.OutlineList, engines.OutlineSpread), doubled(item, engines.OutlineList, engines.OutlineSame),
		doubled(item, engines.OutlineChoice, engines.OutlineSame), doubled(word, engines.OutlineMerge, engines.OutlineSame),
		doubled(item, engines.OutlineMerge, engines.OutlineSame),
	}
	for _, op := range ops {
		for _, inner := range ops {
			roots = append(roots, &engines.OutlineStep{Op: op, Parts: []*engines.OutlineStep{{Op: inner}, nil, {Op: inner}}}, &engines.OutlineStep{Op: op})
		}
	}
	for _, root := range roots {
		body := &engines.OutlineStep{Op: engines.OutlineFunction, Parts: []*engines.OutlineStep{root}}
		for _, o := range []*engines.Outline{{Root: root}, {Root: body}, {Root: &engines.OutlineStep{Op: engines.OutlineImport, Text: "a"}, Files: map[string]*engines.OutlineStep{"a": body}}} {
			New().Check(composite, o, func(at engines.Location) (engines.Location, bool) { return at, true })
		}
	}
}

// TestHostileOutline has an outline checked in time that is made to take as long as it can: objects of many fields, merged again and again.
func TestHostileOutline(t *testing.T) {
	step := engines.NewOutlineStep
	fields := step(engines.OutlineObject, "")
	for i := range 10_000 {
		fields.Parts = append(fields.Parts, step(engines.OutlineField, strconv.Itoa(i), step(engines.OutlineNull, "")))
	}
	body := step(engines.OutlineBlock, "", step(engines.OutlineBind, "0", fields))
	for i := range 8_000 {
		all := step(engines.OutlineName, strconv.Itoa(i))
		body.Parts = append(body.Parts, step(engines.OutlineBind, strconv.Itoa(i+1), step(engines.OutlineMerge, "", all, all)))
	}
	o := &engines.Outline{Root: step(engines.OutlineFunction, "", step(engines.OutlineName, "request"), body)}
	began := time.Now()
	New().Check(Hook{Definition: "CompositeController", Name: "sync"}, o, func(at engines.Location) (engines.Location, bool) { return at, true })
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %s", took)
	}
}
