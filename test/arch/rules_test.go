package arch

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// rule lists the packages of this module that some packages may import.
//
// Patterns are paths below the module's root. "." is the root, * stands for one path element,
// and a final /... for a package and all packages below it. Every package may import its own
// subtree, as far as the pattern of its rule names it before /... .
type rule struct {
	packages string
	imports  []string
	// inTests are further packages that its tests may import, besides everyTest.
	inTests []string
	// excludes are packages of other modules that must not be imported, with all packages below them.
	excludes []string
	why      string
}

// everyPackage lists what every package may import.
var everyPackage = []string{"definitionmetrics", "jsonvalue", "lru", "objectjson", "objectkey", "printable", "spelling", "verbosity"}

// everyTest lists what the tests of every package may import.
var everyTest = []string{"test/..."}

// realHooks lists what tests need to run real hooks.
var realHooks = []string{"engines/enginetest", "engines/standard"}

// clients lists what pure packages must not import.
var clients = []string{"k8s.io/client-go"}

const (
	leaf         = "it is a leaf: you can read, test and replace it alone"
	wiringIsLast = "it wires the program together: nothing may depend on it, and it may depend on everything"
	pureApply    = "it is pure functions over objects, without clients: only package apply sends requests"
	pureVariant  = "it is three pure functions for the reconcile core; code that variants share belongs in the contract"
	onlyTests    = "it exists for tests, so it may use everything that they use"
	outermost    = "it combines definitions and variants; what needs its neighbours too belongs in cmd"
	rendered     = "it runs a definition's plan as the host does, so that there is one way from a definition to a reconciler"
)

// rules are tried in order. The first one that matches a package applies. No rule allows an
// import of cmd, and only tests may import test.
var rules = []rule{
	{packages: "cmd/...", imports: []string{
		"runtime/...", "engines/...", "apply/...", "scripts/...", "controllers/...", "manifests/...",
	}, why: wiringIsLast},

	{packages: "engines", why: "it is the contract of all engines, so it can know none of them"},
	{packages: "engines/standard/...", imports: []string{"engines", "engines/..."},
		why: "it is the one list of engines: only cmd imports it, so that every other package works with any list"},
	{packages: "engines/sandbox/...", imports: []string{"engines"}, inTests: []string{"engines/..."},
		why: "it runs any engine in a worker process, and receives the list from its caller"},
	{packages: "engines/authoring", imports: []string{"apply/readiness"}, excludes: clients,
		why: "it is the helper module for scripts, as text and with the host's own rules: a leaf that engines import"},
	{packages: "engines/*/...", imports: []string{"engines", "engines/authoring"}, inTests: realHooks,
		why: "an engine knows the contract and no other engine, so that each can be added and removed alone"},

	{packages: "apply/schema/...", why: leaf},
	{packages: "apply/merge/...", imports: []string{"apply/schema"}, inTests: []string{"apply/..."}, excludes: clients, why: pureApply},
	{packages: "apply/serverside/...", imports: []string{"apply/schema", "apply/merge"}, inTests: []string{"apply/..."},
		excludes: clients, why: pureApply},
	{packages: "apply/fielddiff/...", imports: []string{"apply/schema", "apply/merge"}, inTests: []string{"apply/..."},
		excludes: clients, why: pureApply},
	{packages: "apply/...", why: leaf},
	{packages: "definitionmetrics", excludes: clients, why: "it is for all packages, so that it can know none of them"},
	{packages: "objectkey", excludes: clients, why: "it is for all packages, so that it can know none of them"},
	{packages: "jsonvalue/...", excludes: clients, why: "it is for all packages, so that it can know none of them"},
	{packages: "lru", excludes: clients, why: "it is for all packages, so that it can know none of them"},
	{packages: "objectjson", excludes: clients, why: "it is for all packages, so that it can know none of them"},
	{packages: "printable", excludes: clients, why: "it is for all packages, so that it can know none of them"},
	{packages: "spelling", excludes: clients, why: "it is for all packages, so that it can know none of them"},
	{packages: "verbosity", excludes: clients, why: "it is for all packages, so that it can know none of them"},
	{packages: "runtime/*/...", why: leaf},
	{packages: "controllers/api/...", why: leaf},
	{packages: "manifests/...", why: leaf},

	{packages: "scripts/...", imports: []string{"engines", "runtime/watchset/..."}, inTests: realHooks,
		why: "it loads scripts for any caller: it knows no API types and no controllers"},

	{packages: "controllers/variant", imports: []string{
		"engines", "apply/...", "runtime/controller", "runtime/discovery", "controllers/api/...",
	}, excludes: clients, why: "it is the contract between the reconcile core and its variants: pure, without clients and informers"},
	{packages: "controllers/parent/...", imports: []string{
		"controllers/variant", "engines", "apply/...", "runtime/...", "controllers/api/...",
	}, inTests: slices.Concat(realHooks, []string{"controllers/render/memcluster"}), why: "it is the one reconcile core: it knows the hook contract but no concrete engine, and none of its variants"},
	{packages: "controllers/credentials/...", imports: []string{"controllers/api/...", "engines", "runtime/..."},
		why: "it resolves the credentials of webhooks: it knows nothing of parents"},
	variantRule("controllers/composite/..."),
	variantRule("controllers/decorator/..."),
	variantRule("controllers/mapping/..."),
	{packages: "controllers/rollout", imports: []string{"controllers/api/...", "engines", "apply/..."}, excludes: clients,
		why: "it decides which edits are held, and how they reach the parents: pure, from what hosts and commands know of these"},
	{packages: "controllers/rollout/analysis", imports: []string{"controllers/api/...", "controllers/rollout", "engines"},
		why: "it makes the checks that a rollout asks for: what they mean for it is decided there"},
	{packages: "controllers/definition/...", imports: []string{
		"controllers/api/...", "controllers/rollout/...", "controllers/variant", "controllers/parent/...",
		"controllers/composite/...", "controllers/decorator/...", "controllers/mapping/...",
		"controllers/credentials/...", "engines/failover",
		"engines", "scripts/...", "apply/...", "runtime/...",
	}, inTests: realHooks, why: outermost},
	{packages: "controllers/manifest/document", imports: []string{"engines"}, excludes: clients,
		why: "it reads objects from text: it opens no files, and knows none of the kinds"},
	{packages: "controllers/manifest/kustomize", imports: []string{"engines/sandbox/confine"}, excludes: clients,
		why: "it runs kustomize in a process of its own, which knows neither the disk nor what its objects are for"},
	{packages: "controllers/manifest", imports: []string{
		"controllers/api/...", "controllers/manifest/document", "controllers/manifest/kustomize", "controllers/render/memcluster", "controllers/render/schema", "engines", "runtime/discovery", "scripts/...",
	},
		inTests: realHooks, why: "it loads files for offline commands: what is done with them is its callers' part"},
	{packages: "controllers/check", imports: []string{
		"controllers/controllertest", "controllers/api/...", "controllers/definition", "controllers/manifest/...", "controllers/render/memcluster", "runtime/discovery",
		"engines", "scripts/...",
	}, inTests: realHooks, why: "it asks the planner and the engines of the host, and has no rules of its own where they have one"},
	{packages: "controllers/bundler", imports: []string{"controllers/check", "controllers/manifest/...", "engines", "scripts/..."},
		inTests: realHooks, why: "it packs what check accepts, and leaves the archive to scripts, which unpacks it"},
	{packages: "controllers/jsonschema", imports: []string{"controllers/api/...", "manifests/crd"},
		inTests: []string{"controllers/controllertest", "controllers/manifest/...", "controllers/scaffold"}, excludes: clients,
		why: "it is schemas for editors: what they describe is known to generators"},
	{packages: "controllers/scaffold", imports: []string{"controllers/api/..."}, excludes: clients, why: "it is templates: what is in them is shown by the test of the command that writes them"},
	{packages: "controllers/typescript", imports: []string{
		"controllers/api/...", "controllers/variant", "controllers/check", "controllers/manifest/...",
	}, inTests: []string{"engines/authoring"}, why: "it writes types of what was loaded from files: which kinds there are is known to check"},
	{packages: "controllers/render/memcluster", imports: []string{"runtime/discovery"},
		why: "it takes the place of an API server, which does not know its clients"},
	{packages: "controllers/render/schema", imports: []string{"controllers/render/memcluster", "runtime/discovery", "manifests/crd", "apply/schema"},
		why: "it is the part of the API server that needs its library: what links no such commands stays without"},
	{packages: "controllers/render/stage", imports: []string{
		"controllers/api/...", "controllers/definition", "controllers/render", "controllers/render/memcluster", "controllers/render/schema",
		"engines", "apply/...", "runtime/controller", "runtime/discovery",
	}, why: "it is what all offline commands share of a cluster in memory: it knows no files"},
	{packages: "controllers/preview", imports: []string{
		"controllers/api/...", "controllers/variant", "controllers/parent", "controllers/rollout", "controllers/render", "controllers/render/memcluster",
		"controllers/render/stage", "engines", "apply/...", "runtime/controller",
	}, why: "it tells what a definition would do with objects that its caller has read: from a cluster or from caches"},
	{packages: "controllers/preview/live", imports: []string{
		"controllers/api/...", "controllers/check", "controllers/definition", "controllers/parent", "controllers/preview", "controllers/rollout", "controllers/manifest/...",
		"controllers/render/memcluster",
		"controllers/render/schema", "controllers/render/stage", "engines", "scripts", "scripts/archive", "apply/...",
		"runtime/discovery",
	}, inTests: []string{"runtime/informer"}, why: "it reads a cluster for previews, for who has no caches: what comes of them it does not know"},
	{packages: "controllers/preview/hosted", imports: []string{
		"controllers/api/...", "controllers/definition", "controllers/parent", "controllers/preview", "controllers/rollout", "controllers/render/memcluster",
		"controllers/render/schema", "controllers/render/stage", "engines", "scripts", "apply/...", "runtime/discovery",
	}, inTests: append([]string{"controllers/render", "runtime/informer"}, realHooks...), excludes: clients,
		why: "it previews from the caches of a host, which hands it objects: it makes no request"},
	{packages: "controllers/preview/report", imports: []string{"controllers/preview", "controllers/rollout", "apply/..."}, inTests: []string{"controllers/variant"}, excludes: clients,
		why: "it is text about outcomes, and reads nothing"},
	{packages: "controllers/preview/explain", imports: []string{
		"controllers/api/...", "controllers/preview", "controllers/preview/live", "controllers/render", "controllers/render/stage", "apply/...", "runtime/controller",
		"scripts/archive",
	}, why: "it is text about one pass, which its caller has read and made"},
	{packages: "controllers/preview/capture", imports: []string{
		"controllers/preview/live", "controllers/controllertest", "controllers/controllertest/suite", "controllers/manifest/...",
		"controllers/render/memcluster", "controllers/render/offline", "controllers/render/stage", "engines", "scripts/archive", "apply/...",
		"runtime/discovery",
	}, why: "it writes what was read of a cluster as the files that offline commands take, and leaves all rules to these"},
	{packages: "controllers/livedefinition", imports: []string{"controllers/api/...", "controllers/definition", "controllers/rollout", "controllers/preview/live", "engines", "scripts/archive"},
		why: "it is what commands read and write of a definition of a cluster: the host acts on it, and knows no commands"},
	{packages: "controllers/controllertest", imports: []string{
		"controllers/api/...", "controllers/variant", "controllers/definition", "controllers/manifest/document", "controllers/render/...", "engines", "engines/failover",
		"apply/...", "runtime/...",
	}, inTests: append([]string{"scripts"}, realHooks...), why: "it runs cases wherever its caller has the definition from: files, or a host"},
	{packages: "controllers/scripttest", imports: []string{
		"controllers/api/...", "controllers/controllertest/...", "controllers/definition",
		"controllers/render/memcluster", "controllers/render/schema", "engines", "runtime/discovery", "scripts",
	}, inTests: realHooks, why: "it is the host's caller of controllertest: it reads what a case needs from the cluster, and bounds what it may take"},
	{packages: "controllers/controllertest/explore", imports: []string{"controllers/controllertest", "controllers/render/memcluster", "engines", "apply/..."},
		inTests: append([]string{"controllers/controllertest/suite"}, realHooks...), why: "it makes paths out of steps, which the runner of cases does"},
	{packages: "controllers/controllertest/suite", imports: []string{
		"controllers/api/...", "controllers/controllertest", "controllers/controllertest/coverage", "controllers/definition", "controllers/manifest/...",
		"controllers/render/...", "engines",
	}, inTests: realHooks, why: "it brings the files of tests and definitions together, and leaves what a case is to its runner"},
	{packages: "controllers/controllertest/report", imports: []string{
		"controllers/controllertest", "controllers/controllertest/coverage", "engines",
	}, why: "it turns results into text, and runs nothing"},
	{packages: "controllers/controllertest/coverage", imports: []string{"engines"},
		why: "it counts what calls of any program reach: it knows no files, no definitions and no engine"},
	{packages: "controllers/render/offline", imports: []string{
		"controllers/api/...", "controllers/variant", "controllers/parent/...", "controllers/definition", "controllers/manifest/...",
		"controllers/render/...", "engines", "engines/webhook", "scripts/...", "apply/...", "runtime/...",
	}, inTests: realHooks, why: "it puts files on a cluster in memory, and shows requests as a webhook gets them"},
	{packages: "controllers/controllertest/functiontest", imports: []string{
		"controllers/controllertest", "controllers/controllertest/coverage", "engines", "scripts/directory",
	}, inTests: []string{"engines/..."}, why: "it runs files of tests in the engines that it is given: it knows no definitions and no cluster"},
	{packages: "controllers/render/...", imports: []string{
		"controllers/api/...", "controllers/variant", "controllers/parent/...", "controllers/definition",
		"engines", "scripts/...", "apply/...", "runtime/...",
	}, inTests: realHooks, why: rendered},

	{packages: "test/arch", why: "it reads the code and runs none of it"},
	{packages: "test/...", imports: []string{
		"runtime/...", "engines/...", "apply/...", "scripts/...", "controllers/...", "manifests/...",
	}, why: onlyTests},
	{packages: "examples/...",
		why: "examples are definitions, scripts and test files; their Go code hands these to the runner, or is a webhook that knows nothing of this project"},
}

func variantRule(packages string) rule {
	return rule{
		packages: packages,
		imports:  []string{"controllers/variant", "controllers/api/...", "engines", "apply/...", "runtime/discovery"},
		excludes: clients,
		why:      pureVariant,
	}
}

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
func violations(rules []rule, graph []node) []string {
	var found []string
	for _, n := range graph {
		if base := path.Base(n.path); slices.Contains(forbiddenNames, n.name) || slices.Contains(forbiddenNames, base) {
			found = append(found, fmt.Sprintf("%s: a package called %s could hold anything: name it for what it holds", n.path, base))
		}
		r, known := ruleFor(rules, n.path)
		if !known {
			found = append(found, n.path+": no rule lists what this package may import: add one to test/arch with its reason")
			continue
		}
		found = append(found, r.violations(n)...)
	}
	return found
}

// violations returns a message for each import of n that the rule does not allow.
func (r rule) violations(n node) []string {
	var found []string
	add := func(importer, imported, verb string) {
		found = append(found, fmt.Sprintf("%s imports %s, which the rule for %s %s: %s", importer, imported, r.packages, verb, r.why))
	}
	for _, imported := range n.imports {
		if !r.allows(n.path, imported, r.imports) {
			add(n.path, imported, "does not allow")
		}
	}
	for _, imported := range n.external {
		if slices.ContainsFunc(r.excludes, func(excluded string) bool { return matches(excluded+"/...", imported) }) {
			add(n.path, imported, "excludes")
		}
	}
	for _, imported := range n.testImports {
		if !r.allows(n.path, imported, slices.Concat(r.imports, r.inTests, everyTest)) {
			add("a test of "+n.path, imported, "does not allow")
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

// allows reports whether a package may import another: one of everyPackage, of its own subtree, or of the patterns.
func (r rule) allows(importer, imported string, patterns []string) bool {
	if importer == imported || ownSubtree(r.packages, importer, imported) {
		return true
	}
	return slices.ContainsFunc(slices.Concat(everyPackage, patterns), func(pattern string) bool { return matches(pattern, imported) })
}

// ownSubtree reports whether the imported package is below the part of the importer's path that the pattern names
// before /... : with engines/*/... that is engines/cel for engines/cel/x.
func ownSubtree(pattern, importer, imported string) bool {
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
