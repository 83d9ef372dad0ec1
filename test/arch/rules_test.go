package arch

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// rule says which packages of ours the packages of one part may import.
//
// Patterns are paths below the module's root: "." is the root itself, * stands for
// one path element, and a final /... for a package and all below it. Every package
// may import those of its own subtree, which the pattern of its rule names up to /... .
type rule struct {
	packages string
	imports  []string
	// inTests is what its tests may import besides, on top of everyTest.
	inTests []string
	// excludes are the packages of other modules that must not be imported, with all below them.
	excludes []string
	why      string
}

// everyPackage is what every package may import.
var everyPackage = []string{"jsonvalue"}

// everyTest is what the tests of every package may import.
var everyTest = []string{"test/..."}

// realHooks is what tests need to run hooks in earnest.
var realHooks = []string{"engines/enginetest", "engines/standard"}

// runsTheCore is what the tests of a variant need to have the core run it.
var runsTheCore = append([]string{"runtime/...", "scripts/..."}, realHooks...)

const (
	pureApply    = "it compares objects and values, without clients; who writes them is apply"
	leaf         = "it is a leaf: it is understood, tested and replaced without knowing the rest"
	wiringIsLast = "it wires the program together, so that nothing may depend on it and it may depend on all"
	pureVariant  = "it is three pure functions over the one reconcile core; what it shares with another variant belongs in the core"
	onlyTests    = "it is there for tests, so that it may use all that they use"
	outermost    = "it puts definitions to work with the variants; whoever needs both of its neighbours is cmd"
	rendered     = "it runs a definition's plan as the host does, so that there is one way from a definition to a reconciler"
)

// rules are tried in order; the first that matches a package is its rule. Nobody is
// allowed cmd, and only tests are allowed test.
var rules = []rule{
	{packages: "cmd/...", imports: []string{
		"runtime/...", "engines/...", "apply/...", "scripts/...", "controllers/...", "manifests/...",
	}, why: wiringIsLast},

	{packages: "engines", why: "it is the contract of all engines, so that it can know none of them"},
	{packages: "engines/standard/...", imports: []string{"engines", "engines/..."},
		why: "it is the one list of engines; only cmd imports it, so that every other package works with any list"},
	{packages: "engines/sandbox/...", imports: []string{"engines"}, inTests: []string{"engines/..."},
		why: "it runs any engine in a worker process: which ones, it is told"},
	{packages: "engines/authoring",
		why: "it is what scripts import and authors read, as text: a leaf that the engines hand out"},
	{packages: "engines/*/...", imports: []string{"engines", "engines/authoring"}, inTests: realHooks,
		why: "an engine knows the contract and no other engine, so that each can be added and taken out by itself"},

	{packages: "jsonvalue", why: "it is what all packages say of JSON values, so that it can know none of them"},
	{packages: "apply/merge", imports: []string{"apply/schema"}, inTests: []string{"apply/applytest", "apply/fielddiff"},
		excludes: []string{"k8s.io/client-go"}, why: pureApply},
	{packages: "apply/serverside", imports: []string{"apply/merge"}, inTests: []string{"apply/applytest"},
		excludes: []string{"k8s.io/client-go"}, why: pureApply},
	{packages: "apply/fielddiff", imports: []string{"apply/merge", "apply/schema"}, inTests: []string{"apply/applytest"},
		excludes: []string{"k8s.io/client-go"}, why: pureApply},
	{packages: "apply/...", why: leaf},
	{packages: "runtime/*/...", why: leaf},
	{packages: "controllers/api/...", why: leaf},
	{packages: "manifests/...", why: leaf},

	{packages: "scripts/...", imports: []string{"engines", "runtime/watchset/..."}, inTests: realHooks,
		why: "scripts are loaded for whoever asks, the test runner for scripts among them: it knows no API types and no controllers"},

	{packages: "controllers/variant", imports: []string{"engines", "apply", "runtime/controller", "runtime/discovery", "controllers/api/..."},
		excludes: []string{"k8s.io/client-go"},
		why:      "it is the contract between the reconcile core and its variants: pure functions and values, without clients and informers"},
	{packages: "controllers/parent/...", imports: []string{"controllers/variant", "engines", "scripts/...", "apply/...", "runtime/...", "controllers/api/..."},
		inTests: realHooks, why: "it is the one reconcile core: it knows the hook contract but no concrete engine, and none of its variants"},
	{packages: "controllers/credentials/...", imports: []string{"controllers/api/...", "engines", "runtime/..."},
		why: "it turns what a definition says of its webhooks' servers into what the engine calls them with; it knows nothing of parents"},
	{packages: "controllers/composite/...", imports: []string{"controllers/variant", "controllers/api/...", "engines", "apply/...", "runtime/discovery"},
		inTests: runsTheCore, excludes: []string{"k8s.io/client-go"}, why: pureVariant},
	{packages: "controllers/decorator/...", imports: []string{"controllers/variant", "controllers/api/...", "engines", "apply/...", "runtime/discovery"},
		inTests: runsTheCore, excludes: []string{"k8s.io/client-go"}, why: pureVariant},
	{packages: "controllers/mapping/...", imports: []string{"controllers/variant", "controllers/api/...", "engines", "apply/...", "runtime/discovery"},
		inTests: runsTheCore, excludes: []string{"k8s.io/client-go"}, why: pureVariant},
	{packages: "controllers/definition/...", imports: []string{
		"controllers/api/...", "controllers/variant", "controllers/parent/...",
		"controllers/composite/...", "controllers/decorator/...", "controllers/mapping/...",
		"controllers/credentials/...", "engines/failover",
		"engines", "scripts/...", "apply/...", "runtime/...",
	}, inTests: realHooks, why: outermost},
	{packages: "controllers/render/memcluster", imports: []string{"runtime/discovery"},
		why: "it stands in for an API server, which knows nothing of those who use it"},
	{packages: "controllers/render/...", imports: []string{
		"controllers/api/...", "controllers/variant", "controllers/parent/...", "controllers/definition", "engines", "scripts/...", "apply/...", "runtime/...",
	}, inTests: realHooks, why: rendered},

	{packages: "test/arch", why: "it reads the code and runs none of it"},
	{packages: "test/...", imports: []string{
		"runtime/...", "engines/...", "apply/...", "scripts/...", "controllers/...", "manifests/...",
	}, why: onlyTests},
	{packages: "examples/...", inTests: []string{"controllers/...", "engines/...", "scripts/..."},
		why: "examples are definitions and scripts; what Go they have is the test that runs them"},
}

// forbiddenNames are package names that say nothing of what a package is for.
var forbiddenNames = []string{
	"manager", "handler", "processor", "service", "util", "utils", "common", "helper", "helpers", "core", "types", "runtime",
}

// node is a package of ours as the rules see it: paths are below the module's root.
type node struct {
	path, name           string
	imports, testImports []string
	// external are the imported packages of other modules.
	external []string
}

// violations says what in the graph breaks which rule and why the rule is there.
func violations(rules []rule, graph []node) []string {
	var found []string
	for _, n := range graph {
		if base := path.Base(n.path); slices.Contains(forbiddenNames, n.name) || slices.Contains(forbiddenNames, base) {
			found = append(found, fmt.Sprintf("%s: a package called %s could hold anything: name it for what it holds", n.path, base))
		}
		r, known := ruleFor(rules, n.path)
		if !known {
			found = append(found, fmt.Sprintf("%s: no rule says what this package may import: add one to test/arch and say why", n.path))
			continue
		}
		for _, imported := range n.imports {
			if !allowed(r, n.path, imported, slices.Concat(r.imports, everyPackage)) {
				found = append(found, fmt.Sprintf("%s imports %s, which the rule for %s does not allow: %s", n.path, imported, r.packages, r.why))
			}
		}
		for _, imported := range n.external {
			for _, excluded := range r.excludes {
				if imported == excluded || strings.HasPrefix(imported, excluded+"/") {
					found = append(found, fmt.Sprintf("%s imports %s, which the rule for %s excludes: %s", n.path, imported, r.packages, r.why))
				}
			}
		}
		inTests := slices.Concat(r.imports, r.inTests, everyPackage, everyTest)
		for _, imported := range n.testImports {
			if !allowed(r, n.path, imported, inTests) {
				found = append(found, fmt.Sprintf("a test of %s imports %s, which the rule for %s does not allow: %s", n.path, imported, r.packages, r.why))
			}
		}
	}
	return found
}

func ruleFor(rules []rule, path string) (rule, bool) {
	for _, r := range rules {
		if matches(r.packages, path) {
			return r, true
		}
	}
	return rule{}, false
}

// allowed says whether a package may import another: its own subtree or one of the patterns.
func allowed(r rule, importer, imported string, patterns []string) bool {
	if importer == imported || ownSubtree(r.packages, importer, imported) {
		return true
	}
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, imported) })
}

// ownSubtree says whether the imported package lies below what the rule's pattern
// pins down of the importer: for engines/*/... that is engines/cel for engines/cel/x.
func ownSubtree(pattern, importer, imported string) bool {
	stem, whole := strings.CutSuffix(pattern, "/...")
	if !whole {
		return false
	}
	elements := strings.Split(importer, "/")
	root := strings.Join(elements[:len(strings.Split(stem, "/"))], "/")
	return imported == root || strings.HasPrefix(imported, root+"/")
}

// matches says whether a path is one that the pattern stands for.
func matches(pattern, path string) bool {
	stem, whole := strings.CutSuffix(pattern, "/...")
	want, have := strings.Split(stem, "/"), strings.Split(path, "/")
	if len(have) < len(want) || (len(have) > len(want) && !whole) {
		return false
	}
	for i, element := range want {
		if element != "*" && element != have[i] {
			return false
		}
	}
	return true
}
