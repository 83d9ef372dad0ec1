package arch

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// wing is a part of the architecture: packages that may import the same others.
//
// Patterns are paths below the module's root: * stands for one path element, and a final /... for a package and all packages below it. Each
// package may import its own subtree, as far as the pattern that it matches names it before /... .
type wing struct {
	name     string
	packages []string
	// imports are patterns, or names of wings for all of their packages. Every package may import those of the wing values.
	imports []string
	// inTests are further ones for tests, besides test/... .
	inTests []string
	// pure wings make no request: they don't import client-go.
	pure bool
	// holds is what the wing has, and why the reason for the rule.
	holds, why string
}

// realHooks is what tests need to run real hooks.
var realHooks = []string{"engines/enginetest", "list of engines"}

// wings are the rules, from left to right: the first one that a package matches applies. Nothing imports cmd, and tests alone import test.
var wings = []wing{
	{
		name: "values", packages: []string{"runtime/values/...", "runtime/telemetry/..."}, pure: true,
		holds: "JSON values, objects and text, and how the log and the metrics name things",
		why:   "it is for all packages, so that it can know none of them",
	},
	{
		name: "pure apply", packages: []string{"apply/merge", "apply/serverside", "apply/fielddiff"},
		imports: []string{"apply/schema", "apply/merge"}, inTests: []string{"apply/..."}, pure: true,
		holds: "three-way merge, managedFields, changes as text",
		why:   "it is pure functions over objects: only package apply sends requests",
	},
	{
		name: "leaves", packages: []string{"runtime/*/...", "apply/...", "controllers/api/...", "manifests/..."},
		holds: "queue, informers, discovery and clients; observed and desired children; the API types; manifests",
		why:   "it is a leaf: you can read, test and replace it alone",
	},
	{
		name: "engines", packages: []string{"engines"},
		holds: "the contract of hooks",
		why:   "it is the contract of all engines, so it can know none of them",
	},
	{
		name: "authoring", packages: []string{"engines/authoring"}, imports: []string{"apply/readiness"}, pure: true,
		holds: "the module `libretto` for scripts",
		why:   "it is text and the host's own rules for scripts: a leaf that engines import",
	},
	{
		name: "list of engines", packages: []string{"engines/standard/..."}, imports: []string{"engines/...", "engines"},
		holds: "which engines there are",
		why:   "only cmd imports it, so that every other package works with any list",
	},
	{
		name: "sandbox", packages: []string{"engines/sandbox/..."}, imports: []string{"engines"}, inTests: []string{"engines/..."},
		holds: "worker processes: pool, protocol, confinement",
		why:   "it runs any engine in a worker process, and receives the list from its caller",
	},
	{
		name: "each engine", packages: []string{"engines/*/..."}, imports: []string{"engines", "engines/authoring"}, inTests: realHooks,
		holds: "JavaScript, Jsonnet, CEL, webhooks; fallback and shadow",
		why:   "an engine knows the contract and no other engine, so that each can be added and removed alone",
	},
	{
		name: "scripts", packages: []string{"scripts/..."}, imports: []string{"engines", "runtime/watchset/..."}, inTests: realHooks,
		holds: "scripts from ConfigMaps, directories and Flux: loaded, reloaded, archived",
		why:   "it loads scripts for any caller: it knows no API types and no controllers",
	},
	{
		name: "check of scripts", packages: []string{"controllers/scriptcheck"}, imports: []string{"engines", "controllers/api/..."},
		inTests: realHooks,
		holds:   "what in a script does not fit the schemas of the objects that it is about",
		why:     "it judges what engines say about scripts, for commands and the host, and asks nobody",
	},
	{
		name: "variant", packages: []string{"controllers/variant"},
		imports: []string{"engines", "apply/...", "runtime/controller", "runtime/discovery", "controllers/api/..."}, pure: true,
		holds: "the contract between the reconcile core and the kinds of definition",
		why:   "it is without clients and informers, for the core and for each variant",
	},
	{
		name: "variants", packages: []string{"controllers/composite/...", "controllers/decorator/...", "controllers/mapping/..."},
		imports: []string{"variant", "engines", "apply/...", "runtime/discovery", "controllers/api/..."}, pure: true,
		holds: "what is special to one kind of definition",
		why:   "it is three pure functions for the reconcile core; code that variants share belongs in the contract",
	},
	{
		name: "rollout", packages: []string{"controllers/rollout"}, imports: []string{"scripts", "engines", "apply/...", "controllers/api/..."}, pure: true,
		holds: "which edit reaches which parent, and how that is said: what holds it, steps, the guard at deletions",
		why:   "it decides from what hosts and commands know of an edit, and asks nobody",
	},
	{
		name: "parent", packages: []string{"controllers/parent/..."}, imports: []string{"variant", "engines", "leaves"},
		inTests: append([]string{"cluster in memory"}, realHooks...),
		holds:   "the reconcile core: the only code that reconciles a parent",
		why:     "it is the one reconcile core: it knows the hook contract but no concrete engine, and none of its variants",
	},
	{
		name: "host", packages: []string{"controllers/definition/...", "controllers/credentials/...", "controllers/rollout/analysis"},
		imports: []string{
			"parent", "variants", "variant", "rollout", "check of scripts", "scripts", "engines", "engines/failover", "leaves",
			"controllers/credentials/...",
			"controllers/rollout/analysis",
		},
		inTests: realHooks,
		holds:   "turns a definition into a running controller, and writes its status; Secrets of webhooks; the checks of a step",
		why:     "it combines definitions and variants; what needs its neighbours too belongs in cmd",
	},
	{
		name: "cluster in memory", packages: []string{
			"controllers/simulation/memcluster", "controllers/simulation/validation", "controllers/simulation/others",
			"controllers/simulation/apiserver",
		},
		imports: []string{"controllers/simulation/memcluster", "controllers/simulation/validation", "controllers/simulation/others", "leaves"},
		holds:   "the API server's part: storage, watches, defaults, pruning, validation, HTTP; the garbage collector",
		why:     "it takes the place of an API server, which does not know its clients",
	},
	{
		name: "simulation", packages: []string{"controllers/simulation/..."},
		imports: []string{"cluster in memory", "host", "parent", "variant", "rollout", "scripts", "engines", "leaves"}, inTests: realHooks,
		holds: "the reconciler on a cluster in memory: sessions, previews",
		why:   "it runs a definition's plan as the host does, so that there is one way from a definition to a reconciler",
	},
	{
		name: "files", packages: []string{"controllers/manifest/..."},
		imports: []string{"cluster in memory", "scripts", "engines", "engines/sandbox/confine", "leaves"}, inTests: realHooks,
		holds: "definitions, scripts and objects of files and kustomizations, with their places",
		why:   "it loads files: what is done with them is its callers' part",
	},
	{
		name: "tests of hooks", packages: []string{"controllers/controllertest/...", "controllers/scripttest"},
		imports: []string{
			"files", "simulation", "cluster in memory", "host", "variant", "scripts", "engines", "engines/failover", "leaves",
			"controllers/controllertest/...",
		},
		inTests: append([]string{"engines/..."}, realHooks...),
		holds:   "the runner of test files, on the simulation, for commands and for the host",
		why:     "it runs what its caller has read, from files or a cluster",
	},
	{
		name: "commands", packages: []string{"cmd/..."}, imports: []string{
			"runtime/...", "engines/...", "engines", "apply/...", "scripts/...", "controllers/...", "manifests/...", "cmd/libretto/internal/...",
		},
		holds: "the program: what only a command does is in `cmd/libretto/internal`",
		why:   "it wires the program together: nothing may depend on it, and it may depend on everything",
	},
	{
		name: "tests", packages: []string{"test/...", "examples/..."}, imports: []string{
			"runtime/...", "engines/...", "engines", "apply/...", "scripts/...", "controllers/...", "manifests/...", "test/...",
		},
		holds: "tests that need several packages, the control plane, demonstrations; examples",
		why:   "it exists for tests, so it may use everything that they use",
	},
}

// clients is what pure wings must not import, with all packages below.
const clients = "k8s.io/client-go"

// commandTypes is named for its command, as all packages of commands are.
const commandTypes = "cmd/libretto/internal/types"

// forbiddenNames are package names that do not describe the package.
var forbiddenNames = []string{
	"manager", "handler", "processor", "service", "util", "utils", "common", "helper", "helpers", "core", "types", "runtime",
}

// node is a package of this module. Paths are below the module's root.
type node struct {
	path, name           string
	imports, testImports []string
	// external are the imported packages of other modules.
	external []string
}

// violations returns a message for each violation of a rule, with the reason for the rule.
func violations(graph []node) []string {
	var found []string
	for _, n := range graph {
		if base := path.Base(n.path); n.path != commandTypes && (slices.Contains(forbiddenNames, n.name) || slices.Contains(forbiddenNames, base)) {
			found = append(found, fmt.Sprintf("%s: a package called %s could hold anything: name it for what it holds", n.path, base))
		}
		w, pattern := wingOf(n.path)
		if w == nil {
			found = append(found, n.path+": no rule lists what this package may import: add one to test/arch with its reason")
			continue
		}
		found = append(found, w.violations(n, pattern)...)
	}
	return found
}

// violations returns a message for each import of n that the wing does not allow. pattern is the one that n matches.
func (w *wing) violations(n node, pattern string) []string {
	var found []string
	add := func(importer, imported, verb string) {
		found = append(found, fmt.Sprintf("%s imports %s, which the rule for the wing %s %s: %s", importer, imported, w.name, verb, w.why))
	}
	allowed := append(patterns(w.imports), wings[0].packages...)
	inTests := slices.Concat(allowed, patterns(w.inTests), []string{"test/..."})
	for _, imported := range n.imports {
		if !matchesAny(allowed, imported) && !ownSubtree(pattern, n.path, imported) {
			add(n.path, imported, "does not allow")
		}
	}
	for _, imported := range n.external {
		if w.pure && matches(clients+"/...", imported) {
			add(n.path, imported, "excludes")
		}
	}
	for _, imported := range n.testImports {
		if !matchesAny(inTests, imported) && !ownSubtree(pattern, n.path, imported) {
			add("a test of "+n.path, imported, "does not allow")
		}
	}
	return found
}

// wingOf returns the wing of a package, with the pattern that it matches, or nil.
func wingOf(path string) (*wing, string) {
	for i := range wings {
		for _, pattern := range wings[i].packages {
			if matches(pattern, path) {
				return &wings[i], pattern
			}
		}
	}
	return nil, ""
}

// patterns returns patterns with the packages of wings in the place of their names.
func patterns(imports []string) []string {
	var all []string
	for _, imported := range imports {
		i := slices.IndexFunc(wings, func(w wing) bool { return w.name == imported })
		if i >= 0 {
			all = append(all, wings[i].packages...)
		} else {
			all = append(all, imported)
		}
	}
	return all
}

func matchesAny(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, path) })
}

// ownSubtree reports whether the imported package is below the part of the importer's path that the pattern names
// before /... : with engines/*/... that is engines/cel for engines/cel/x.
func ownSubtree(pattern, importer, imported string) bool {
	if importer == imported {
		return true
	}
	stem, subtree := strings.CutSuffix(pattern, "/...")
	if !subtree {
		return false
	}
	elements := strings.Split(importer, "/")
	return matches(strings.Join(elements[:len(strings.Split(stem, "/"))], "/")+"/...", imported)
}

// matches reports whether the pattern matches the path.
func matches(pattern, path string) bool {
	stem, subtree := strings.CutSuffix(pattern, "/...")
	want, have := strings.Split(stem, "/"), strings.Split(path, "/")
	if len(have) < len(want) || (len(have) > len(want) && !subtree) {
		return false
	}
	for i, element := range want {
		if element != "*" && element != have[i] {
			return false
		}
	}
	return true
}
