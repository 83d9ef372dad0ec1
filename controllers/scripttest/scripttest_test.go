package scripttest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	renderschema "github.com/libretto-k8s/libretto/controllers/simulation/validation"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/standard"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/scripts"
)

var crds = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")

const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: webapps.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: webapps, kind: WebApp}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {replicas: {type: integer, default: 2}, secretName: {type: string}}}
          status: {type: object, properties: {replicas: {type: integer}, observedGeneration: {type: integer}}}
`

const webapps = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: webapps, uid: live, resourceVersion: "7", generation: 3}
spec:
  generateSelector: true
  parentResource: {apiVersion: example.com/v1, resource: webapps}
  childResources: [{apiVersion: v1, resource: configmaps}]
  scriptSources: [{configMap: {namespace: a, name: hooks}}]
  hooks: {sync: {script: {path: sync.js}}}
`

const syncScript = `
export function sync({parent}) {
  const children = [];
  for (let i = 0; i < parent.spec.replicas; i++)
    children.push({apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name + "-" + i}});
  return {status: {replicas: children.length}, children};
}
`

// header begins a file of tests with a parent.
const header = `
apiVersion: libretto.dev/v1alpha1
kind: ControllerTest
given: [{apiVersion: example.com/v1, kind: WebApp, metadata: {name: shop}, spec: {}}]
cases:
`

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

// newRunner returns a Runner in a cluster with those CustomResourceDefinitions.
func newRunner(t *testing.T, present ...string) (*Runner, *dynamicfake.FakeDynamicClient) {
	t.Helper()
	var objects []runtime.Object
	for _, text := range present {
		objects = append(objects, object(t, text))
	}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{crds: "CustomResourceDefinitionList"}, objects...)
	registry, err := engines.NewRegistry(engines.Config{}, standard.Definitions()...)
	if err != nil {
		t.Fatal(err)
	}
	return &Runner{Client: client, Scripts: registry, Webhooks: registry, Find: func(apiVersion, resource string) (discovery.Resource, error) {
		gv, err := schema.ParseGroupVersion(apiVersion)
		if err != nil {
			return discovery.Resource{}, err
		}
		found := discovery.Resource{GroupVersionResource: gv.WithResource(resource), Namespaced: true, HasStatus: true}
		switch resource {
		case "webapps":
			found.Kind, found.Custom = gv.WithKind("WebApp"), true
		case "configmaps":
			found.Kind, found.HasStatus = gv.WithKind("ConfigMap"), false
		default:
			return discovery.Resource{}, &discovery.NotFoundError{APIVersion: apiVersion, Resource: resource}
		}
		return found, nil
	}}, client
}

// textOf returns a text with compiled programs.
func textOf(t *testing.T, r *Runner, files map[string]string) scripts.TestedText {
	t.Helper()
	stored := renderschema.Definitions(object(t, webapps))[0]
	if stored.Err != nil || len(stored.Invalid) > 0 {
		t.Fatal(stored.Err, stored.Invalid)
	}
	plan, refusal := plan.Planner{Find: r.Find}.Plan(stored.Unstructured)
	if refusal != nil {
		t.Fatal(refusal.Err)
	}
	spec, err := plan.Scripts()
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := scripts.Compile(t.Context(), r.Scripts, spec, func(scripts.Origin) scripts.Contents { return scripts.Contents{Files: files} })
	if err != nil || len(compiled.Problems) > 0 {
		t.Fatal(err, compiled.Problems)
	}
	return scripts.TestedText{Definition: stored.Unstructured, Spec: spec, Files: compiled.Files, Programs: compiled.Programs}
}

func TestRunner(t *testing.T) {
	cases := map[string]struct {
		reason string
		script string // defaults to syncScript
		files  map[string]string
		want   scripts.TestReport
	}{
		"Passes": {
			reason: "the schema of the cluster has a default of 2",
			files:  map[string]string{"a_test.yaml": header + `- {name: default, want: {status: {replicas: 2}, counts: {ConfigMap: 2}}}`},
			want:   scripts.TestReport{Passed: 1},
		},
		"Fails": {
			reason: "a case that fails is reported with its place",
			files:  map[string]string{"a_test.yaml": header + `- {name: default, want: {status: {replicas: 3}}}`},
			want: scripts.TestReport{Failures: []scripts.TestFailure{{
				Location: engines.Location{File: "a_test.yaml", Line: 6, Column: 45},
				Message:  `case "default": WebApp/default/shop: status: replicas is 2, want 3`,
			}}},
		},
		"Throws": {
			reason: "the place in the script is reported too",
			script: "export function sync() {\n  throw new Error('no');\n}\n",
			files:  map[string]string{"a_test.yaml": header + `- {name: one}`},
			want: scripts.TestReport{Failures: []scripts.TestFailure{{
				Location: engines.Location{File: "a_test.yaml", Line: 6, Column: 3},
				Message:  `case "one": the pass fails: HookFailed: sync hook: sync.js:2:9: no`,
			}}},
		},
		"Dropped": {
			reason: "what the schema of the cluster does not have fails",
			script: "export const sync = () => ({status: {replica: 1}, children: []})",
			files:  map[string]string{"a_test.yaml": header + `- {name: one}`},
			want: scripts.TestReport{Failures: []scripts.TestFailure{{
				Location: engines.Location{File: "a_test.yaml", Line: 6, Column: 3},
				Message:  `case "one": update status WebApp/default/shop: the schema has no status.replica, which is dropped`,
			}}},
		},
		"Files": {
			reason: "what a file says of the definition does not matter; files that are not among the scripts skip a case",
			files: map[string]string{
				"lib/a_test.yaml": "definition: ../webapps.yaml\nscripts: {a/hooks: .}\n" + strings.TrimSpace(header) + `
- {name: there, given: [given.yaml], want: {objects: [{kind: ConfigMap, metadata: {name: given}}]}}
- {name: not there, given: [crd.yaml, given.yaml]}
- {name: golden, golden: testdata/shop.golden.yaml}
- {name: not yet, skip: later}
`,
				"lib/given.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: given}\n",
			},
			want: scripts.TestReport{Passed: 1, Skipped: []string{
				`lib/a_test.yaml: case "not there": it needs crd.yaml, which is not among the scripts`,
				`lib/a_test.yaml: case "golden": it needs testdata/shop.golden.yaml, which is not among the scripts`,
				`lib/a_test.yaml: case "not yet": later`,
			}},
		},
		"Patched": {
			reason: "a case may give hooks other settings, and other scripts",
			script: "export const sync = ({parameters}) => ({status: {replicas: parameters?.n ?? 1}, children: []})",
			files: map[string]string{"a_test.yaml": header + `
- name: parameters
  definitionPatch: {spec: {hooks: {sync: {script: {parameters: {"n": 7}}}}}}
  want: {status: {replicas: 7}}
- name: inline
  definitionPatch: {spec: {hooks: {sync: {script: {path: null, engine: JavaScript, inline: "export const sync = () => ({status: {replicas: 8}, children: []})"}}}}}
  want: {status: {replicas: 8}}
- name: webhook
  definitionPatch: {spec: {hooks: {sync: {script: null, webhook: {url: "http://127.0.0.1:1/"}}}}}
  webhooks: {sync: {body: {status: {replicas: 9}, children: []}}}
  want: {status: {replicas: 9}}
- name: no request is made
  definitionPatch: {spec: {hooks: {sync: {script: null, webhook: {url: "http://127.0.0.1:1/"}}}}}
  fails: a webhook, which is not called in tests
- {name: unpatched, want: {status: {replicas: 1}}}
`},
			want: scripts.TestReport{Passed: 5},
		},
		"Functions": {
			reason: "tests of functions are run too",
			files: map[string]string{
				"lib/names.js":      "export const name = n => 'web-' + n;\n",
				"lib/names.test.js": "import { test, expect } from 'libretto/test';\nimport { name } from './names.js';\ntest('one', () => expect(name(1)).toBe('web-1'));\ntest('two', () => expect(name(2)).toBe('web-3'));\n",
				"sums_test.jsonnet": "{ sum: {actual: 1 + 1, expected: 2} }",
			},
			want: scripts.TestReport{Passed: 2, Failures: []scripts.TestFailure{{
				Location: engines.Location{File: "lib/names.test.js", Line: 4, Column: 35}, Message: `test "two": toBe: want "web-3", got "web-2"`,
			}}},
		},
		"Unreadable": {
			reason: "what can't be parsed is no reason to serve, and the other cases run",
			files:  map[string]string{"a_test.yaml": header + "- {name: one, wants: {}}\n- {name: two}"},
			want: scripts.TestReport{Passed: 1, Failures: []scripts.TestFailure{{
				Location: engines.Location{File: "a_test.yaml", Line: 6, Column: 22}, Message: "cases[0] has no field wants: did you mean want?",
			}}},
		},
		"Others": {
			reason: "files of other programs are no tests",
			files:  map[string]string{"a_test.yaml": "kind: Other\n", "b_test.yaml": header + `- {name: one}`},
			want:   scripts.TestReport{Passed: 1, Skipped: []string{"a_test.yaml: it is no ControllerTest"}},
		},
		"Many": {
			reason: "twenty cases that fail are enough",
			files:  map[string]string{"a_test.yaml": header + "- {name: \"c${i}\", each: [" + numbers(100) + "], want: {counts: {ConfigMap: 9}}}"},
			want:   scripts.TestReport{Failures: make([]scripts.TestFailure, maxFailed)},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r, _ := newRunner(t, crd)
			files := map[string]string{"sync.js": syncScript}
			if tc.script != "" {
				files["sync.js"] = tc.script
			}
			maps.Copy(files, tc.files)
			got, err := r.Test(t.Context(), textOf(t, r, files))
			if name == "Many" && len(got.Failures) == maxFailed {
				got.Failures = tc.want.Failures
			}
			if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
				t.Errorf("%s: error %v, -want +got:\n%s", tc.reason, err, diff)
			}
		})
	}
}

// numbers returns entries of each.
func numbers(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("{i: %d}", i))
	}
	return strings.Join(all, ", ")
}

// TestCRDOfTheCluster shows what happens if the CustomResourceDefinition can't be read, or is one that the library refuses.
func TestCRDOfTheCluster(t *testing.T) {
	files := map[string]string{"sync.js": syncScript, "a_test.yaml": header + `- {name: one, apply: [{kind: WebApp, metadata: {name: shop}, spec: {replicas: 1}}], want: {counts: {ConfigMap: 1}}}`}
	r, client := newRunner(t, crd)
	client.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("away") })
	if _, err := r.Test(t.Context(), textOf(t, r, files)); err == nil || !strings.Contains(err.Error(), "webapps.example.com: away") {
		t.Errorf("an API server that does not answer: error %v, want one that is tried again", err)
	}
	r, _ = newRunner(t, strings.Replace(crd, "type: integer, default: 2", "type: integer, default: two", 1))
	got, err := r.Test(t.Context(), textOf(t, r, files))
	if err != nil || got.Passed != 1 || len(got.Skipped) != 1 || !strings.Contains(got.Skipped[0], "objects of webapps.example.com are not validated: ") {
		t.Errorf("a schema that is refused: %+v, error %v, want a case that passes without it, and the reason", got, err)
	}
	r, client = newRunner(t, crd)
	if _, err := r.Test(t.Context(), textOf(t, r, files)); err != nil {
		t.Fatal(err)
	}
	for _, action := range client.Actions() {
		if action.GetVerb() != "list" || action.GetResource() != crds {
			t.Errorf("%s of %s: want lists of CustomResourceDefinitions alone", action.GetVerb(), action.GetResource())
		}
	}
}

// largeObject is an object with as many values as a host reads.
var largeObject = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: large}\nx: [" + strings.Repeat("{},", 80_000) + "]\n"

// copies returns operations of a JSON patch that copy a value.
func copies(from string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{op: copy, from: %s, path: /data/a%d},", from, i)
	}
	return b.String()
}

// TestHostileTests gives a host tests that take time and memory.
func TestHostileTests(t *testing.T) {
	bomb := "kind: ControllerTest\na: &a [0,0,0,0,0,0,0,0,0,0]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n" +
		"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n"
	large := "export const sync = ({parent}) => ({children: [], status: {replicas: 1}, x: Array.from({length: 1000}, (_, i) => 'x'.repeat(1000) + i)})"
	const tooLarge = `case "one": it keeps more than 64 MiB of memory: `
	cases := map[string]struct {
		reason, script, tests, want string
		timeout                     time.Duration
	}{
		"Bomb":      {reason: "aliases do not fill the host's memory", tests: bomb, want: "more than 100000 values"},
		"Documents": {reason: "nor do many documents of them", tests: strings.Repeat(strings.Replace(bomb, "\ne:", "\nf: [*d,*d]\n#", 1)+"---\n", 10), want: "more than"},
		"Large":     {reason: "files are small", tests: header + "- {name: one}\n" + strings.Repeat("#", controllertest.MaxHostedBytes), want: "has 256 KiB, and a host runs tests of 256 KiB at most"},
		"Texts": {
			reason: "what each replaces is bounded", want: "more than 8192 KiB",
			tests: header + "- {name: one, each: [{x: " + strings.Repeat("x", 50_000) + "}], want: {status: {a: \" " + strings.Repeat("${x}", 10_000) + "\"}}}",
		},
		"Values": {
			reason: "also where it replaces a value", want: "more than 100000 values",
			tests: header + "- {name: one, each: [{x: [" + strings.Repeat("0,", 10_000) + "]}], given: [{a: [" + strings.Repeat(`"${x}",`, 1000) + "]}]}",
		},
		"Given": {
			reason: "files that tests name are bounded as they are", tests: header + "- {name: one, given: [bomb.yaml]}", want: "more than 100000 values",
		},
		"Cases": {reason: "there are not too many cases", tests: header + "- {name: \"c${i}\", each: [" + strings.Repeat("{i: 1},", 12_000) + "]}", want: "more than 10000 cases"},
		"Endless": {
			reason: "cases end with the time that all tests have", timeout: time.Second,
			script: "export const sync = ({parent}) => ({children: [], status: {replicas: (parent.status?.replicas ?? 0) + 1}})",
			tests:  header + "- {name: \"c${i}\", each: [" + numbers(5000) + "], passes: 1000}", want: `": context deadline exceeded, which all tests have together`,
		},
		"Busy": {
			reason: "so do scripts that compute without end", timeout: 300 * time.Millisecond,
			script: "export const sync = () => { for (;;); }", tests: header + "- {name: one}", want: `case "one": context deadline exceeded`,
		},
		"Answers": {
			reason: "answers share a budget", script: strings.Replace(large, "replicas: 1", "replicas: (parent.status?.replicas ?? 0) + 1", 1),
			tests: header + "- {name: one, passes: 1000}", want: tooLarge,
		},
		"Webhooks": {
			reason: "so do canned ones", want: tooLarge,
			tests: header + `- name: one
  passes: 1000
  definitionPatch: {spec: {hooks: {sync: {script: null, webhook: {url: "http://127.0.0.1:1/"}}}}}
  webhooks: {sync: {body: {status: {replicas: 9}, x: [` + strings.Repeat("0,", 50_000) + "], children: []}}}",
		},
		"Expected": {
			reason: "a case that wants such an error fails nevertheless",
			script: strings.Replace(large, "replicas: 1", "replicas: (parent.status?.replicas ?? 0) + 1", 1),
			tests:  header + "- {name: one, passes: 1000, fails: memory}", want: tooLarge,
		},
		"Copies": {
			reason: "patches add no more than an API server lets them",
			want:   "the object has more than 3 MiB then, which no API server takes",
			tests: header + "- {name: one, create: [{apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {a: x}}], " +
				"patch: [{object: ConfigMap/m, json: [" + copies("/data", 40) + "]}]}",
		},
		"ManyCopies": {
			reason: "and many of them share the budget", want: tooLarge,
			tests: header + "- name: one\n  create: [{apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {a: " +
				strings.Repeat("x", 200_000) + "}}]\n" +
				"  patch: [" + strings.Repeat("{object: ConfigMap/m, json: ["+copies("/data/a", 1)+"]},", 250) + "]\n",
		},
		"GivenOften": {
			reason: "a file that is named often is read often", want: tooLarge,
			tests: header + "- {name: one, given: [" + strings.Repeat("large.yaml,", 1000) + "]}",
		},
		"Compared": {
			reason: "comparisons end with the time too", timeout: 2 * time.Second, want: `case "one": context deadline exceeded`,
			tests: header + "- {name: one, apply: [{kind: WebApp, metadata: {name: shop}, spec: {replicas: 1000}}], " +
				"want: {absent: [" + strings.Repeat("{kind: ConfigMap, data: {a: b}},", 7000) +
				"], objects: [" + strings.Repeat("{kind: ConfigMap},", 100) + "]}}",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r, _ := newRunner(t, crd)
			if tc.script == "" {
				tc.script = syncScript
			}
			files := map[string]string{"sync.js": tc.script, "a_test.yaml": tc.tests, "bomb.yaml": bomb, "large.yaml": largeObject}
			text := textOf(t, r, files)
			ctx := t.Context()
			if tc.timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, tc.timeout)
				defer cancel()
			}
			report, err := r.Test(ctx, text)
			if err != nil || len(report.Failures) == 0 || !strings.Contains(report.Failures[len(report.Failures)-1].Message, tc.want) {
				t.Errorf("%s: error %v, failures %.500v, want %q", tc.reason, err, report.Failures, tc.want)
			}
		})
	}
}
