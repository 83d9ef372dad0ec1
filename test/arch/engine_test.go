package arch

import (
	"strings"
	"testing"
)

// TestRulesCatch shows the rules graphs that break them, so that a rule that lets
// everything through is noticed.
func TestRulesCatch(t *testing.T) {
	for name, c := range map[string]struct {
		graph node
		want  string
	}{
		"leaf to contract":         {node{path: "apply", imports: []string{"engines"}}, "it is a leaf"},
		"values to a leaf":         {node{path: "jsonvalue", imports: []string{"apply"}}, "it can know none of them"},
		"merge to a client":        {node{path: "apply/merge", external: []string{"k8s.io/client-go/dynamic"}}, "without clients"},
		"merge to who describes":   {node{path: "apply/merge", imports: []string{"apply/fielddiff"}}, "without clients"},
		"leaf to leaf":             {node{path: "runtime/controller", imports: []string{"runtime/informer"}}, "it is a leaf"},
		"leaf up":                  {node{path: "runtime/informer", imports: []string{"controllers/parent"}}, "it is a leaf"},
		"api to contract":          {node{path: "controllers/api/v1alpha1", imports: []string{"engines"}}, "it is a leaf"},
		"contract to engine":       {node{path: "engines", imports: []string{"engines/cel"}}, "it can know none of them"},
		"engine to engine":         {node{path: "engines/javascript", imports: []string{"engines/cel"}}, "no other engine"},
		"engine below to engine":   {node{path: "engines/javascript/view", imports: []string{"engines/cel/value"}}, "no other engine"},
		"engine to scripts":        {node{path: "engines/jsonnet", imports: []string{"scripts"}}, "no other engine"},
		"engine to sandbox":        {node{path: "engines/webhook", imports: []string{"engines/sandbox"}}, "no other engine"},
		"authors' to contract":     {node{path: "engines/authoring", imports: []string{"engines"}}, "a leaf that the engines hand out"},
		"engine to the list":       {node{path: "engines/webhook", imports: []string{"engines/standard"}}, "no other engine"},
		"engine's test to engine":  {node{path: "engines/cel", testImports: []string{"engines/jsonnet"}}, "a test of engines/cel"},
		"leaf's test to engines":   {node{path: "apply", testImports: []string{"engines/standard"}}, "a test of apply"},
		"sandbox to engine":        {node{path: "engines/sandbox", imports: []string{"engines/cel"}}, "which ones, it is told"},
		"scripts to api":           {node{path: "scripts", imports: []string{"controllers/api/v1alpha1"}}, "no API types"},
		"scripts to core":          {node{path: "scripts/source", imports: []string{"controllers/parent"}}, "no controllers"},
		"core to variant":          {node{path: "controllers/parent", imports: []string{"controllers/composite"}}, "none of its variants"},
		"core to engine":           {node{path: "controllers/parent", imports: []string{"engines/webhook"}}, "no concrete engine"},
		"core to the list":         {node{path: "controllers/parent", imports: []string{"engines/standard"}}, "no concrete engine"},
		"variant to variant":       {node{path: "controllers/mapping", imports: []string{"controllers/composite"}}, "belongs in the core"},
		"variant to scripts":       {node{path: "controllers/composite", imports: []string{"scripts"}}, "belongs in the core"},
		"variant to runtime":       {node{path: "controllers/decorator", imports: []string{"runtime/informer"}}, "belongs in the core"},
		"definition to list":       {node{path: "controllers/definition", imports: []string{"engines/standard"}}, "is cmd"},
		"render to list":           {node{path: "controllers/render", imports: []string{"engines/standard"}}, "one way from a definition"},
		"memcluster to its users":  {node{path: "controllers/render/memcluster", imports: []string{"controllers/parent"}}, "stands in for an API server"},
		"a variant to a client":    {node{path: "controllers/mapping", external: []string{"k8s.io/client-go/dynamic"}}, "excludes"},
		"a variant to the core":    {node{path: "controllers/mapping", imports: []string{"controllers/parent"}}, "three pure functions"},
		"definition to render":     {node{path: "controllers/definition", imports: []string{"controllers/render"}}, "is cmd"},
		"anybody to cmd":           {node{path: "test/cluster", imports: []string{"cmd/libretto"}}, "it is there for tests"},
		"a test to cmd":            {node{path: "controllers/parent", testImports: []string{"cmd/libretto"}}, "a test of controllers/parent"},
		"code to test":             {node{path: "controllers/parent", imports: []string{"test/cluster"}}, "controllers/parent imports test/cluster"},
		"cmd to test":              {node{path: "cmd/libretto", imports: []string{"test/cluster"}}, "it wires the program together"},
		"an unknown folder":        {node{path: "plugins/lua"}, "no rule says"},
		"the root":                 {node{path: ".", name: "libretto"}, "no rule says"},
		"runtime itself":           {node{path: "runtime", name: "runtime"}, "no rule says"},
		"a name that says nothing": {node{path: "apply/util", name: "util"}, "name it for what it holds"},
		"such a name elsewhere":    {node{path: "apply/merge", name: "common"}, "name it for what it holds"},
	} {
		t.Run(name, func(t *testing.T) {
			found := strings.Join(violations(rules, []node{c.graph}), "\n")
			if !strings.Contains(found, c.want) {
				t.Errorf("want a violation that says %q, got %q", c.want, found)
			}
		})
	}
}

// TestRulesAllow shows the rules the arrows of the architecture.
func TestRulesAllow(t *testing.T) {
	graph := []node{
		{path: "cmd/libretto", name: "main", imports: []string{"engines/standard", "controllers/definition", "controllers/render", "runtime/informer", "cmd/libretto/flags"}},
		{path: "engines/standard", imports: []string{"engines", "engines/javascript", "engines/webhook", "engines/sandbox"}},
		{path: "engines/javascript/view", imports: []string{"engines", "engines/authoring", "engines/javascript/source"}, testImports: []string{"engines/enginetest", "test/conformance"}},
		{path: "engines/sandbox/codec", imports: []string{"engines"}, testImports: []string{"engines/cel"}},
		{path: "scripts", imports: []string{"engines", "scripts/source"}, testImports: []string{"engines/standard", "test/cluster"}},
		{path: "controllers/parent", imports: []string{"engines", "scripts", "apply", "runtime/informer", "controllers/api/v1alpha1"}},
		{path: "controllers/mapping", imports: []string{"controllers/variant", "controllers/api/v1alpha1", "engines", "apply"}},
		{path: "controllers/definition", imports: []string{"controllers/mapping", "controllers/composite", "scripts", "runtime/controller"}},
		{path: "controllers/render", imports: []string{"controllers/definition", "controllers/render/memcluster", "controllers/parent", "runtime/informer"}},
		{path: "runtime/informer/index", imports: []string{"runtime/informer"}},
		{path: "test/integration/api", testImports: []string{"test/cluster", "controllers/api/v1alpha1"}},
		{path: "examples", testImports: []string{"test/cluster", "controllers/render"}},
	}
	for _, violation := range violations(rules, graph) {
		t.Error(violation)
	}
}

func TestMatches(t *testing.T) {
	for name, c := range map[string]struct {
		pattern, path string
		want          bool
	}{
		"itself":           {"engines", "engines", true},
		"not below":        {"engines", "engines/cel", false},
		"subtree's root":   {"test/...", "test", true},
		"subtree":          {"test/...", "test/a/b", true},
		"not a neighbour":  {"test/...", "testing", false},
		"one element":      {"runtime/*/...", "runtime/informer", true},
		"needs an element": {"runtime/*/...", "runtime", false},
		"element and more": {"runtime/*/...", "runtime/informer/index", true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := matches(c.pattern, c.path); got != c.want {
				t.Errorf("matches(%q, %q) = %v, want %v", c.pattern, c.path, got, c.want)
			}
		})
	}
}
