package arch

import (
	"strings"
	"testing"
)

// TestRulesCatch checks that each rule rejects a graph that violates it.
func TestRulesCatch(t *testing.T) {
	for name, c := range map[string]struct {
		graph node
		want  string
	}{
		"leaf to contract":         {node{path: "apply", imports: []string{"engines"}}, "it is a leaf"},
		"values to a leaf":         {node{path: "runtime/values/jsonvalue", imports: []string{"apply"}}, "it can know none of them"},
		"merge to a client":        {node{path: "apply/merge", external: []string{"k8s.io/client-go/dynamic"}}, "excludes: it is pure functions"},
		"merge to who describes":   {node{path: "apply/merge", imports: []string{"apply/fielddiff"}}, "only package apply sends requests"},
		"leaf to leaf":             {node{path: "runtime/controller", imports: []string{"runtime/informer"}}, "it is a leaf"},
		"leaf up":                  {node{path: "runtime/informer", imports: []string{"controllers/parent"}}, "it is a leaf"},
		"api to contract":          {node{path: "controllers/api/v1alpha1", imports: []string{"engines"}}, "it is a leaf"},
		"contract to engine":       {node{path: "engines", imports: []string{"engines/cel"}}, "it can know none of them"},
		"engine to engine":         {node{path: "engines/javascript", imports: []string{"engines/cel"}}, "no other engine"},
		"engine below to engine":   {node{path: "engines/javascript/view", imports: []string{"engines/cel/value"}}, "no other engine"},
		"engine to scripts":        {node{path: "engines/jsonnet", imports: []string{"scripts"}}, "no other engine"},
		"engine to sandbox":        {node{path: "engines/webhook", imports: []string{"engines/sandbox"}}, "no other engine"},
		"authoring to contract":    {node{path: "engines/authoring", imports: []string{"engines"}}, "a leaf that engines import"},
		"engine to the list":       {node{path: "engines/webhook", imports: []string{"engines/standard"}}, "no other engine"},
		"engine's test to engine":  {node{path: "engines/cel", testImports: []string{"engines/jsonnet"}}, "a test of engines/cel"},
		"leaf's test to engines":   {node{path: "apply", testImports: []string{"engines/standard"}}, "a test of apply"},
		"sandbox to engine":        {node{path: "engines/sandbox", imports: []string{"engines/cel"}}, "receives the list from its caller"},
		"failover to engine":       {node{path: "engines/failover", imports: []string{"engines/javascript"}}, "no other engine"},
		"fielddiff to a client":    {node{path: "apply/fielddiff", external: []string{"k8s.io/client-go/dynamic"}}, "excludes"},
		"merge to apply":           {node{path: "apply/merge", imports: []string{"apply"}}, "only package apply sends requests"},
		"fielddiff to server-side": {node{path: "apply/fielddiff", imports: []string{"apply/serverside"}}, "only package apply sends requests"},
		"JSON values to apply":     {node{path: "runtime/values/jsonvalue", imports: []string{"apply"}}, "it can know none of them"},
		"scripts to api":           {node{path: "scripts", imports: []string{"controllers/api/v1alpha1"}}, "no API types"},
		"scripts to core":          {node{path: "scripts/source", imports: []string{"controllers/parent"}}, "no controllers"},
		"contract to a client":     {node{path: "controllers/variant", external: []string{"k8s.io/client-go/tools/cache"}}, "excludes"},
		"contract to informers":    {node{path: "controllers/variant", imports: []string{"runtime/informer"}}, "without clients and informers"},
		"contract to the core":     {node{path: "controllers/variant", imports: []string{"controllers/parent"}}, "without clients and informers"},
		"core to scripts":          {node{path: "controllers/parent", imports: []string{"scripts"}}, "one reconcile core"},
		"core to variant":          {node{path: "controllers/parent", imports: []string{"controllers/composite"}}, "none of its variants"},
		"core to engine":           {node{path: "controllers/parent", imports: []string{"engines/webhook"}}, "no concrete engine"},
		"core to the list":         {node{path: "controllers/parent", imports: []string{"engines/standard"}}, "no concrete engine"},
		"variant to variant":       {node{path: "controllers/mapping", imports: []string{"controllers/composite"}}, "belongs in the contract"},
		"variant to scripts":       {node{path: "controllers/composite", imports: []string{"scripts"}}, "belongs in the contract"},
		"variant to runtime":       {node{path: "controllers/decorator", imports: []string{"runtime/informer"}}, "belongs in the contract"},
		"definition to list":       {node{path: "controllers/definition", imports: []string{"engines/standard"}}, "belongs in cmd"},
		"render to list":           {node{path: "controllers/simulation", imports: []string{"engines/standard"}}, "one way from a definition"},
		"manifests to the planner": {node{path: "controllers/manifest", imports: []string{"controllers/definition"}}, "its callers' part"},
		"rollout to a client":      {node{path: "controllers/rollout", external: []string{"k8s.io/client-go/dynamic"}}, "asks nobody"},
		"cases to commands":        {node{path: "controllers/controllertest", imports: []string{"cmd/libretto/internal/check"}}, "what its caller has read"},
		"memcluster to its users": {
			node{path: "controllers/simulation/memcluster", imports: []string{"controllers/parent"}},
			"takes the place of an API server",
		},
		"a variant to a client": {node{path: "controllers/mapping", external: []string{"k8s.io/client-go/dynamic"}}, "excludes"},
		"a variant to the core": {node{path: "controllers/mapping", imports: []string{"controllers/parent"}}, "three pure functions"},
		"definition to render":  {node{path: "controllers/definition", imports: []string{"controllers/simulation"}}, "belongs in cmd"},
		"test to cmd":           {node{path: "test/cluster", imports: []string{"cmd/libretto"}}, "it exists for tests"},
		"a test to cmd":         {node{path: "controllers/parent", testImports: []string{"cmd/libretto"}}, "a test of controllers/parent"},
		"code to test": {
			node{path: "controllers/parent", imports: []string{"test/cluster"}},
			"controllers/parent imports test/cluster",
		},
		"cmd to test":            {node{path: "cmd/libretto", imports: []string{"test/cluster"}}, "it wires the program together"},
		"an unknown folder":      {node{path: "plugins/lua"}, "no rule lists"},
		"the root":               {node{path: ".", name: "libretto"}, "no rule lists"},
		"runtime itself":         {node{path: "runtime", name: "runtime"}, "no rule lists"},
		"a vague name":           {node{path: "apply/util", name: "util"}, "name it for what it holds"},
		"a vague name elsewhere": {node{path: "apply/merge", name: "common"}, "name it for what it holds"},
	} {
		t.Run(name, func(t *testing.T) {
			found := strings.Join(violations([]node{c.graph}), "\n")
			if !strings.Contains(found, c.want) {
				t.Errorf("want a violation with %q, got %q", c.want, found)
			}
		})
	}
}

// TestRulesAllow checks that the rules allow the imports of the architecture.
func TestRulesAllow(t *testing.T) {
	graph := []node{
		{path: "cmd/libretto", name: "main", imports: []string{
			"engines/standard", "controllers/definition", "controllers/simulation", "runtime/informer", "cmd/libretto/flags",
		}},
		{path: "engines/standard", imports: []string{"engines", "engines/javascript", "engines/webhook", "engines/sandbox"}},
		{
			path: "engines/javascript/view", imports: []string{"engines", "engines/authoring", "engines/javascript/source"},
			testImports: []string{"engines/enginetest", "test/conformance"},
		},
		{path: "engines/sandbox/codec", imports: []string{"engines"}, testImports: []string{"engines/cel"}},
		{path: "engines/failover", imports: []string{"engines", "runtime/values/jsonvalue"}},
		{path: "scripts", imports: []string{"engines", "scripts/source"}, testImports: []string{"engines/standard", "test/cluster"}},
		{
			path: "apply", imports: []string{"apply/merge", "apply/serverside", "apply/fielddiff", "apply/schema", "runtime/values/jsonvalue"},
			external: []string{"k8s.io/client-go/dynamic"},
		},
		{path: "apply/fielddiff", imports: []string{"apply/schema", "apply/merge", "runtime/values/jsonvalue"}},
		{path: "controllers/parent", imports: []string{"engines", "apply", "runtime/informer", "controllers/api/v1alpha1"}},
		{path: "controllers/variant", imports: []string{"apply", "engines", "controllers/api/v1alpha1"}},
		{path: "controllers/mapping", imports: []string{"controllers/variant", "controllers/api/v1alpha1", "engines", "apply"}},
		{path: "controllers/definition", imports: []string{
			"controllers/mapping", "controllers/composite", "engines/failover", "scripts", "runtime/controller",
		}},
		{path: "controllers/simulation", imports: []string{
			"controllers/definition", "controllers/simulation/memcluster", "controllers/parent", "runtime/informer",
		}},
		{path: "runtime/informer/index", imports: []string{"runtime/informer"}},
		{path: "test/integration/api", testImports: []string{"test/cluster", "controllers/api/v1alpha1"}},
		{path: "examples", testImports: []string{"test/cluster", "test/cases"}},
	}
	for _, violation := range violations(graph) {
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
