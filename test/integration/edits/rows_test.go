package edits

import "github.com/libretto-k8s/libretto/test/env"

// row is an edit of a definition. Pairs replace texts in the template of its kind, one after another.
type row struct {
	name, kind string
	// hooks are those beside sync, or map.
	hooks string
	// with are the pairs that make the first text, and earlier those of an edit that serves before the one that is judged.
	with, earlier, edit []string
	// first is done once the first text has settled, and then after the host's verdict.
	first, then []touch
	// held is a part of why the host holds the edit, or empty if it serves. guarded is a part of why the guard stops it after that.
	held, guarded string
	// most is how many children may be deleted and recreated. Zero means half of them, and none is -1.
	most int
	// pinned is set if the edit pins another revision.
	pinned bool
	// asked is set if the parents ask for what is deleted.
	asked bool
	// wantError is why diff can't tell, or empty.
	wantError string
}

// touch is a merge patch of the objects of a row, or "delete": its things, gizmos, settings, or the answers of its webhook; or
// another name for its definition.
type touch struct{ of, patch string }

const (
	c, d, m = env.Composite, env.Decorator, env.Map
	// Texts of the templates.
	kids    = "children(parent)"
	targets = "children(object)"
	outs    = "[made(input.metadata.name, \"one\")]"
	touched = `{"metadata": {"labels": {"touched": "yes"}}}`
	ruled   = `.map((child) => ({...child, data: {value: JSON.stringify(controller.spec)}}))`
	one     = `"one"`
	script  = "script: {path: hooks.js}}"
	rule    = "{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}"
	set     = "spec:\n"
	steps   = "spec:\n  scriptRollout: {steps: [{parents: 1}]}\n"
	limit   = "spec:\n  scriptRollout: {preview: {maxDeletedChildren: 0}}\n"
	pin     = "spec:\n  scriptRollout: {revision: FIRST}\n"
	always  = "spec:\n  deletionGuard: {maxDeletedChildren: 30%}\n"
	addHook = "  hooks:\n"
	inline  = "export const sync = ({parent}) => ({children: [1, 2, 3].map((n) => ({\n" +
		"        apiVersion: \"v1\", kind: \"ConfigMap\", metadata: {name: parent.metadata.name + \"-\" + n}}))})"
	sources = "[{configMap: {namespace: NS, name: ROW}}]"
	lost    = "it would delete "
	fails   = "that succeed now would fail"
)

// accidents are edits that lose children, or would make parents fail.
var accidents = []row{
	{name: "no-children", kind: c, edit: []string{kids, "[]"}, held: lost},
	{name: "rename", kind: c, edit: []string{`metadata.name + "-"`, `metadata.name + "-new-"`}, held: lost},
	{name: "throws", kind: c, edit: []string{kids, "children(parent.none)"}, held: fails},
	{name: "throws-once", kind: c, edit: []string{kids, `children(parent.metadata.name === "ROW-0" ? null : parent)`}, held: fails},
	{name: "wrong-field", kind: c, edit: []string{"spec.count", "(spec.replicas ?? 0)"}, held: lost},
	{name: "method", kind: c, with: []string{"({parent,", "({controller, parent,", kids, kids + ruled}, edit: []string{"InPlace",
		"Recreate"}, held: "it would recreate "},
	{name: "rule-dropped", kind: c, edit: []string{"configmaps, updateStrategy: {method: InPlace}", "secrets"}, held: fails},
	{name: "limit", kind: c, with: []string{set, limit}, edit: []string{`"b", "c"`, `"b"`}, held: "maxDeletedChildren: 0 allows", most: -1},
	{name: "halves", kind: c, earlier: []string{`, "c"]`, "]"}, edit: []string{`"a", "b"]`, `"a"]`}, held: lost},
	{name: "one-kind", kind: c, with: []string{rule, rule + "\n  - {apiVersion: v1, resource: secrets}", kids,
		`[...children(parent), ...children(parent).map(secret)]`},
		edit: []string{`, ...children(parent).map(secret)`, ""}, held: "children of kind Secret"},
	{name: "finalize-early", kind: c, hooks: "finalize", first: []touch{{"things", "delete"}},
		edit: []string{"children: children(parent), finalized: false", "children: [], finalized: true"}, held: lost},
	{name: "finalize-empty", kind: c, hooks: "finalize", first: []touch{{"things", "delete"}},
		edit: []string{"children: children(parent), finalized: false", "children: [], finalized: false"}, held: lost},
	{name: "finalize-gone", kind: c, hooks: "finalize", first: []touch{{"things", "delete"}},
		edit: []string{"\n    finalize: {version: v2, " + script, ""}, held: lost},
	{name: "bomb", kind: c, edit: []string{kids, `parent.metadata.labels.touched ? [] : children(parent)`}, then: []touch{{"things",
		touched}},
		guarded: lost},
	{name: "related-gone", kind: c, hooks: "customize", edit: []string{kids,
		`Object.keys(related["ConfigMap.v1"]).length ? children(parent) : []`},
		then: []touch{{"settings", "delete"}}, guarded: lost},
	{name: "related-edited", kind: c, hooks: "customize", edit: []string{kids,
		`children({...parent, spec: {count: Number(Object.values(related["ConfigMap.v1"])[0].data.count)}})`},
		then: []touch{{"settings", `{"data": {"count": "0"}}`}}, guarded: lost},
	{name: "related-new", kind: c, hooks: "customize", with: []string{`names: ["ROW-settings"]`, `names: []`},
		edit: []string{`{apiVersion: "v1", resource: "configmaps", namespace: "NS", names: []}`,
			`{apiVersion: "apps/v1", resource: "daemonsets"}`, kids, "[]"}, held: lost},
	{name: "hook-added", kind: c, edit: []string{"  hooks:\n", "  hooks:\n    customize: {version: v2, " + script + "\n",
		"export const customize = () => (", "export const customize = ({none}) => none.of || ("}, held: fails},
	{name: "jsonnet", kind: c, edit: []string{script, "script: {path: hooks.jsonnet}}", "  hooks.js: |\n",
		"  hooks.jsonnet: |\n    function(request) {children: []}\n  hooks.js: |\n"}, held: lost},
	{name: "inline", kind: c, with: []string{script,
		"script: {engine: JavaScript, inline: '" + inline + "'}}"}, edit: []string{"[1, 2, 3]", "[1]"}, held: lost},
	{name: "parameters", kind: c, with: []string{script, "script: {path: hooks.js, parameters: {count: 3}}}", "({parent,",
		"({parent, parameters,",
		kids, "children(parent).slice(0, parameters.count ?? 0)"}, edit: []string{"{count: 3}", "{counts: 3}"}, held: lost},
	{name: "namespace", kind: c, edit: []string{"metadata: {name}", `metadata: {name, namespace: "elsewhere"}`}, held: fails},
	{name: "bad-name", kind: c, edit: []string{`metadata.name + "-"`, `metadata.name + "_"`}, held: fails},
	{name: "steps", kind: c, with: []string{set, steps}, edit: []string{kids, "[]"}, held: lost},
	{name: "step-bomb", kind: c, with: []string{set, steps}, edit: []string{kids, `parent.metadata.labels.touched ? [] : children(parent)`},
		then: []touch{{"things", touched}}, guarded: lost},
	{name: "pin", kind: c, earlier: []string{`"c"]`, `"c", "d", "e", "f", "g"]`}, edit: []string{set, pin}, held: lost, pinned: true},
	{name: "unpin", kind: c, earlier: []string{set, pin, kids, "[]"}, edit: []string{"\n  scriptRollout: {revision: FIRST}", ""},
		held: lost},
	{name: "selector", kind: c, edit: []string{"matchLabels: {row: ROW}", "matchLabels: {row: none}"}},
	{name: "selector-finalized", kind: c, hooks: "finalize", with: []string{"children: children(parent), finalized: false",
		"children: [], finalized: true"},
		edit: []string{"matchLabels: {row: ROW}", "matchLabels: {row: none}"}, held: lost},
	{name: "webhook", kind: c, with: []string{script, "webhook: {url: HOOK/one}}"}, edit: []string{"HOOK/one", "HOOK/none"}, held: lost,
		wantError: "is a webhook"},
	{name: "webhook-previewed", kind: c, with: []string{script, "webhook: {url: HOOK/one, sideEffects: None}}"},
		edit: []string{"HOOK/one", "HOOK/none"}, held: lost, wantError: "is a webhook"},
	{name: "webhook-turns", kind: c, with: []string{script, "webhook: {url: HOOK/one}}"}, edit: []string{"HOOK/one", "HOOK/ROW"},
		then: []touch{{"webhook", "delete"}, {"things", touched}}, guarded: lost,
		wantError: "is a webhook"},

	{name: "no-edit", kind: c, hooks: "customize", with: []string{set, always, kids,
		`Object.keys(related["ConfigMap.v1"]).length ? children(parent) : []`},
		then: []touch{{"settings", "delete"}}, guarded: lost},
	{name: "no-edit-webhook", kind: c, with: []string{set, always, script, "webhook: {url: HOOK/ROW}}"},
		then: []touch{{"webhook", "delete"}, {"things", touched}}, guarded: lost},

	{name: "d-nothing", kind: d, edit: []string{targets, "[]"}, held: lost},
	{name: "d-rename", kind: d, edit: []string{`metadata.name + "-"`, `metadata.name + "-new-"`}, held: lost},
	{name: "d-throws", kind: d, edit: []string{targets, "children(object.none)"}, held: fails},
	{name: "d-finalize", kind: d, hooks: "finalize", first: []touch{{"things", "delete"}},
		edit: []string{"attachments: children(object), finalized: false", "attachments: [], finalized: true"}, held: lost},
	{name: "d-selector", kind: d, edit: []string{"matchLabels: {row: ROW}", "matchLabels: {row: none}"}},
	{name: "d-selector-finalized", kind: d, hooks: "finalize", with: []string{"attachments: children(object), finalized: false",
		"attachments: [], finalized: true"},
		edit: []string{"matchLabels: {row: ROW}", "matchLabels: {row: none}"}, held: lost},
	{name: "d-bomb", kind: d, edit: []string{targets, `object.metadata.labels.touched ? [] : children(object)`}, then: []touch{{"things",
		touched}}, guarded: lost},
	{name: "d-method", kind: d, with: []string{"({object,", "({controller, object,", targets, targets + ruled},
		edit: []string{"InPlace", "Recreate"}, held: "it would recreate "},

	{name: "m-nothing", kind: m, edit: []string{outs, "[]"}, held: lost},
	{name: "m-rename", kind: m, edit: []string{"made(input.metadata.name", `made(input.metadata.name + "-new"`}, held: lost},
	{name: "m-throws", kind: m, edit: []string{outs, "[made(input.none.name)]"}, held: fails},
	{name: "m-tombstone", kind: m, hooks: "tombstone", first: []touch{{"gizmos", "delete"}},
		edit: []string{`Object.values(outputs["ConfigMap.v1"])`, "[]"}, held: lost},
	{name: "m-tombstone-gone", kind: m, hooks: "tombstone", first: []touch{{"gizmos", "delete"}},
		edit: []string{"\n    tombstone: {" + script, ""}, held: lost},
	{name: "m-inputs", kind: m, edit: []string{"gizmos, labelSelector: {matchLabels: {row: ROW}}",
		"gizmos, labelSelector: {matchLabels: {row: none}}"}, held: lost},
	{name: "m-selector", kind: m, edit: []string{"things, labelSelector: {matchLabels: {row: ROW}}",
		"things, labelSelector: {matchLabels: {row: none}}"}},
	{name: "m-finalize", kind: m, hooks: "finalize", first: []touch{{"things", "delete"}},
		edit: []string{`outputs: Object.values(outputs["ConfigMap.v1"]), finalized: false`, "outputs: [], finalized: true"}, held: lost},
	{name: "m-bomb", kind: m, edit: []string{outs, "(input.spec ?? {}).touched ? [] : " + outs}, then: []touch{{"gizmos",
		`{"spec": {"touched": true}}`}}, guarded: lost},
}

// honest are edits that people mean.
var honest = []row{
	{name: "comment", kind: c, edit: []string{"export const sync", "// sync makes the children.\n    export const sync"}},
	{name: "format", kind: c, edit: []string{"children: " + kids, "children:\n        " + kids}},
	{name: "value", kind: c, edit: []string{one, `"two"`}},
	{name: "label", kind: c, edit: []string{"metadata: {name}", `metadata: {name, labels: {team: "a"}}`}},
	{name: "one-more", kind: c, edit: []string{`"c"`, `"c", "d"`}},
	{name: "one-less", kind: c, edit: []string{`, "c"`, ""}},
	{name: "scale", kind: c, edit: []string{one, `"two"`}, then: []touch{{"things", `{"spec": {"count": 0}}`}}, asked: true},
	{name: "deleted", kind: c, edit: []string{one, `"two"`}, then: []touch{{"things", "delete"}}, asked: true},
	{name: "renamed", kind: c, edit: []string{one, `"two"`}, then: []touch{{"definition", "renamed-since"}}},
	{name: "status", kind: c, edit: []string{"children: " + kids, "status: {said: 1}, children: " + kids}},
	{name: "jsonnet-same", kind: c, edit: []string{script, "script: {path: hooks.jsonnet}}", "  hooks.js: |\n", `  hooks.jsonnet: |
    local made(name) = {apiVersion: "v1", kind: "ConfigMap", metadata: {name: name}, data: {value: "one"}};
    function(request) {children: [made(request.parent.metadata.name + "-" + n) for n in ["a", "b", "c"]]}
  hooks.js: |
`}},
	{name: "cel-same", kind: c, edit: []string{script, "script: {path: hooks.cel}}", "  hooks.js: |\n", `  hooks.cel: |
    {"children": ["a", "b", "c"].map(n, {
      "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": parent.metadata.name + "-" + n}, "data": {"value": "one"}})}
  hooks.js: |
`}},
	{name: "typescript", kind: c, edit: []string{"hooks.js}", "hooks.ts}", "hooks.js: |", "hooks.ts: |", "const names = [",
		"const names: string[] = ["}},
	{name: "two-files", kind: c, edit: []string{`const names = ["a", "b", "c"];`, `import { names } from "./names.js";`, "  hooks.js: |\n",
		"  names.js: |\n    export const names = [\"a\", \"b\", \"c\"];\n  hooks.js: |\n"}},
	{name: "kind-added", kind: c, edit: []string{rule, rule + "\n  - {apiVersion: v1, resource: secrets}", kids,
		"[...children(parent), ...children(parent).map(secret)]"}},
	{name: "kind-left", kind: c, with: []string{rule, rule + "\n  - {apiVersion: v1, resource: secrets}", kids,
		"[...children(parent), ...children(parent).map(secret)]"},
		edit: []string{"\n  - {apiVersion: v1, resource: secrets}", "", "[...children(parent), ...children(parent).map(secret)]", kids}},
	{name: "method-alone", kind: c, edit: []string{"InPlace", "Recreate"}},
	{name: "resync", kind: c, edit: []string{set, "spec:\n  resyncPeriodSeconds: 3600\n"}},
	{name: "server-side", kind: c, edit: []string{"resource: configmaps, ", "resource: configmaps, applyStrategy: ServerSideApply, "}},
	{name: "on-delete", kind: c, with: []string{"InPlace", "OnDelete"}, edit: []string{one, `"two"`}},
	{name: "steps-added", kind: c, edit: []string{set, steps}},
	{name: "stepwise", kind: c, with: []string{set, steps}, edit: []string{one, `"two"`}},
	{name: "pin-harmless", kind: c, earlier: []string{`"c"]`, `"c", "d"]`}, edit: []string{set, pin}, pinned: true},
	{name: "limits", kind: c, with: []string{set, limit}, edit: []string{one, `"two"`}},
	{name: "finalize-added", kind: c, edit: []string{"  hooks:\n", "  hooks:\n    finalize: {version: v2, " + script + "\n"}},
	{name: "finalize-removed", kind: c, hooks: "finalize", edit: []string{"\n    finalize: {version: v2, " + script, ""}},
	{name: "related-kind", kind: c, edit: []string{"  hooks:\n", "  hooks:\n    customize: {version: v2, " + script + "\n",
		`{apiVersion: "v1", resource: "configmaps", namespace: "NS", names: ["ROW-settings"]}`,
		`{apiVersion: "apps/v1", resource: "statefulsets"}`, one, `"two"`}},
	{name: "related-removed", kind: c, hooks: "customize", edit: []string{"\n    customize: {version: v2, " + script, ""}},
	{name: "image", kind: c, with: []string{rule, "{apiVersion: apps/v1, resource: deployments, updateStrategy: {method: InPlace}}",
		kids, "children(parent).map(deployment)"},
		edit: []string{`"app:one"`, `"app:two"`}},
	{name: "image-recreate", kind: c, with: []string{rule,
		"{apiVersion: apps/v1, resource: deployments, updateStrategy: {method: Recreate}}", kids, "children(parent).map(deployment)"},
		edit: []string{`"app:one"`, `"app:two"`}, held: "it would recreate "},
	{name: "image-rolling", kind: c, with: []string{rule,
		"{apiVersion: apps/v1, resource: deployments, updateStrategy: {method: RollingRecreate}}",
		"resource: things, ", "resource: things, revisionHistory: {scriptChanges: Rolling}, ", kids,
		"children(parent).map(deployment)"}, edit: []string{`"app:one"`, `"app:two"`}, asked: true},
	{name: "rolling-in-place", kind: c, with: []string{"InPlace", "RollingInPlace"}, edit: []string{one, `"two"`}},
	{name: "kind-replaced", kind: c, edit: []string{rule, rule + "\n  - {apiVersion: v1, resource: secrets}", kids,
		"children(parent).map(secret)"}, held: lost},
	{name: "merged", kind: c, edit: []string{`["a", "b", "c"]`, `["a"]`}, held: lost},
	{name: "parent-less", kind: c, edit: []string{"labelSelector: {matchLabels: {row: ROW}}",
		"labelSelector: {matchLabels: {row: ROW}, matchExpressions: [{key: of, operator: NotIn, values: [ROW-0]}]}"}},

	{name: "d-value", kind: d, edit: []string{one, `"two"`}},
	{name: "d-one-less", kind: d, edit: []string{`, "c"`, ""}},
	{name: "d-labels", kind: d, edit: []string{"attachments: " + targets, `labels: {team: "a"}, attachments: ` + targets}},
	{name: "d-finalize-added", kind: d, edit: []string{"  hooks:\n", "  hooks:\n    finalize: {version: v2, " + script + "\n"}},
	{name: "d-status", kind: d, edit: []string{"attachments: " + targets, "status: {said: 1}, attachments: " + targets}},

	{name: "m-value", kind: m, edit: []string{one, `"two"`}},
	{name: "m-one-more", kind: m, edit: []string{outs, `[made(input.metadata.name, "one"), made(input.metadata.name + "-more", "one")]`}},
	{name: "m-tombstone-added", kind: m, edit: []string{"  hooks:\n", "  hooks:\n    tombstone: {" + script + "\n"}},
	{name: "m-inputs-gone", kind: m, edit: []string{one, `"two"`}, then: []touch{{"gizmos", "delete"}}, asked: true},
	{name: "m-cel", kind: m, edit: []string{script, "script: {path: hooks.cel}}", "  hooks.js: |\n", `  hooks.cel: |
    {"outputs": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": input.metadata.name}, "data": {"value": "one"}}]}
  hooks.js: |
`}},
}

// templates are the definitions of all kinds, their scripts and what these ask for.
var templates = map[string]string{
	c: `apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: ROW}
spec:
  generateSelector: true
  parentResource: {apiVersion: GROUP/v1, resource: things, labelSelector: {matchLabels: {row: ROW}}}
  childResources:
  - ` + rule + `
  scriptSources: ` + sources + `
  hooks:
    sync: {version: v2, script: {path: hooks.js}}
---
` + scripts + `
    export const sync = ({parent, related}) => ({children: children(parent)});
    export const finalize = ({parent}) => ({children: children(parent), finalized: false});
`,
	d: `apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: ROW}
spec:
  resources: [{apiVersion: GROUP/v1, resource: things, labelSelector: {matchLabels: {row: ROW}}}]
  attachments:
  - ` + rule + `
  scriptSources: ` + sources + `
  hooks:
    sync: {version: v2, script: {path: hooks.js}}
---
` + scripts + `
    export const sync = ({object, related}) => ({attachments: children(object)});
    export const finalize = ({object}) => ({attachments: children(object), finalized: false});
`,
	m: `apiVersion: metacontroller.k8s.io/v1alpha1
kind: MapController
metadata: {name: ROW}
spec:
  parentResource: {apiVersion: GROUP/v1, resource: things, labelSelector: {matchLabels: {row: ROW}}}
  inputResources: [{apiVersion: GROUP/v1, resource: gizmos, labelSelector: {matchLabels: {row: ROW}}}]
  outputResources:
  - ` + rule + `
  scriptSources: ` + sources + `
  hooks:
    map: {script: {path: hooks.js}}
---
` + scripts + `
    export const map = ({input}) => ({outputs: [made(input.metadata.name, "one")]});
    export const tombstone = ({outputs}) => ({outputs: Object.values(outputs["ConfigMap.v1"])});
    export const finalize = ({outputs}) => ({outputs: Object.values(outputs["ConfigMap.v1"]), finalized: false});
`,
}

const scripts = `apiVersion: v1
kind: ConfigMap
metadata: {name: ROW, namespace: NS}
data:
  hooks.js: |
    const made = (name, value) => ({apiVersion: "v1", kind: "ConfigMap", metadata: {name}, data: {value}});
    const secret = ({metadata}) => ({apiVersion: "v1", kind: "Secret", metadata, type: "Opaque"});
    const deployment = ({metadata}) => ({apiVersion: "apps/v1", kind: "Deployment", metadata, spec: {
      replicas: 0, selector: {matchLabels: metadata}, template: {metadata: {labels: metadata}, spec: {
        containers: [{name: "main", image: "app:one"}]}}}});
    const names = ["a", "b", "c"];
    const children = ({metadata, spec}) => names.slice(0, spec.count).map((n) => made(metadata.name + "-" + n, "one"));
    export const customize = () => ({relatedResources: [
      {apiVersion: "v1", resource: "configmaps", namespace: "NS", names: ["ROW-settings"]}]});`
