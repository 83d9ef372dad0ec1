package related

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

var secrets = discovery.Resource{
	GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"},
	Kind:                 schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, Namespaced: true,
}

// ruleOf parses "SECRETS|GADGETS [in NAMESPACE] [named A,B] [where SELECTOR] [inside SELECTOR]", with selectors of one word.
func ruleOf(t *testing.T, text string) *Rule {
	t.Helper()
	words := strings.Fields(text)
	resources := map[string]discovery.Resource{"secrets": secrets, "gadgets": parenttest.Gadgets}
	rule := &Rule{resource: resources[words[0]], selector: labels.Everything()}
	for i := 1; i < len(words); i += 2 {
		selector, _ := labels.Parse(words[i+1])
		switch words[i] {
		case "in":
			rule.namespace = words[i+1]
		case "named":
			rule.names = map[string]bool{}
			for name := range strings.SplitSeq(words[i+1], ",") {
				rule.names[name] = true
			}
		case "where":
			rule.selector = selector
		case "inside":
			rule.namespaces = selector
		default:
			t.Fatalf("%s: unknown word", words[i])
		}
	}
	return rule
}

// declaration parses the same as an entry.
func declaration(t *testing.T, text string) DeclaredRule {
	t.Helper()
	rule := ruleOf(t, text)
	d := DeclaredRule{GroupVersionResource: rule.resource.GroupVersionResource, Namespace: rule.namespace, Namespaces: rule.namespaces}
	for name := range rule.names {
		d.Names = append(d.Names, name)
	}
	slices.Sort(d.Names)
	if strings.Contains(text, "where") {
		d.Labels = rule.selector
	}
	return d
}

func declarations(t *testing.T, texts []string) []DeclaredRule {
	t.Helper()
	var declared []DeclaredRule
	for _, text := range texts {
		declared = append(declared, declaration(t, text))
	}
	return declared
}

func TestRestrict(t *testing.T) {
	cases := map[string]struct {
		reason   string
		declared []string
		rule     string
		want     []string // the rules
		refused  string
	}{
		"Same": {
			"What is declared may be asked for.", []string{"gadgets"}, "gadgets", []string{"gadgets"}, "",
		},
		"Part": {
			"And less than that.", []string{"gadgets"}, "gadgets in a named x", []string{"gadgets in a named x"}, "",
		},
		"OtherResource": {
			"Nothing else may.", []string{"gadgets"}, "secrets in a",
			nil, `asks for all secrets in namespace "a", and spec.relatedResources declares no secrets of v1`,
		},
		"Name": {
			"A declared name may.", []string{"secrets in a named x,y"}, "secrets in a named x", []string{"secrets in a named x"}, "",
		},
		"OtherName": {
			"Another name may not.", []string{"secrets named x"}, "secrets named x,z",
			nil, `secrets named "x", "z" in all namespaces, and`,
		},
		"AllNames": {
			"Nor may all.", []string{"secrets named x"}, "secrets where a=b", nil, "asks for all secrets in all namespaces",
		},
		"Namespace": {
			"A namespace may.", []string{"secrets in a"}, "secrets in a where k=v", []string{"secrets in a where k=v"}, "",
		},
		"OtherNamespace": {
			"Another may not.", []string{"secrets in a"}, "secrets in b", nil, `declares all secrets in namespace "a" only`,
		},
		"AllNamespaces": {
			"Nor may all.", []string{"secrets in a"}, "secrets", nil, "asks for all secrets in all namespaces",
		},
		"SelectNamespaces": {
			"Nor may some, by labels.", []string{"secrets in a"}, "secrets inside k=v", nil, "asks for all secrets in all namespaces",
		},
		"NamesElsewhere": {
			"A name counts in its namespace.", []string{"secrets in a named x", "secrets in b named y"}, "secrets in a named y",
			nil, `secrets named "y" in namespace "a"`,
		},
		"NamesOfSeveral": {
			"Names of several entries may be mixed.", []string{"secrets named x", "secrets in a named y"}, "secrets in a named x,y",
			[]string{"secrets in a named x", "secrets in a named y"}, "",
		},
		"Labels": {
			"Labels are restricted, not refused.", []string{"secrets where k=v"}, "secrets", []string{"secrets where k=v"}, "",
		},
		"MoreLabels": {
			"Those of both apply.", []string{"secrets where k=v"}, "secrets in a where a=b", []string{"secrets in a where a=b,k=v"}, "",
		},
		"LabelsOfNamed": {
			"Also to a name.", []string{"secrets where k=v"}, "secrets named x", []string{"secrets named x where k=v"}, "",
		},
		"Namespaces": {
			"Namespaces are restricted by labels too.", []string{"secrets inside k=v"}, "secrets in a named x",
			[]string{"secrets in a named x inside k=v"}, "",
		},
		"BothNamespaces": {
			"By those of both.", []string{"secrets inside k=v"}, "secrets inside a=b", []string{"secrets inside a=b,k=v"}, "",
		},
		"Union": {
			"Each entry adds what it allows.", []string{"secrets where k=v", "secrets in a", "gadgets"}, "secrets",
			[]string{"secrets where k=v", "secrets in a"}, "",
		},
		"Apart": {
			"Unless there can be nothing.", []string{"secrets in a", "secrets in b"}, "secrets in b", []string{"secrets in b"}, "",
		},
		"Empty": {
			"An empty list declares nothing.", []string{}, "gadgets", nil, "declares no gadgets of example.com/v1",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			limits := Limits{Declared: append([]DeclaredRule{}, declarations(t, tc.declared)...), RefuseSecrets: true}
			rules, problem := limits.restrict(ruleOf(t, tc.rule))
			if (problem == "") != (tc.refused == "") || !strings.Contains(problem, tc.refused) {
				t.Errorf("%s refused: %q, want %q", tc.reason, problem, tc.refused)
			}
			got, want := map[ruleID]bool{}, map[ruleID]bool{}
			for _, rule := range rules {
				got[rule.id()] = true
			}
			for _, text := range tc.want {
				want[ruleOf(t, text).id()] = true
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s %d rules, want %v", tc.reason, len(rules), tc.want)
			}
		})
	}
}

// TestRestrictUndeclared checks what may be asked for if nothing is declared.
func TestRestrictUndeclared(t *testing.T) {
	for rule, script := range map[string]bool{"gadgets": true, "secrets": false, "secrets in a named x": false} {
		for _, refuse := range []bool{false, true} {
			limits := Limits{RefuseSecrets: refuse}
			if _, problem := limits.restrict(ruleOf(t, rule)); (problem == "") != (script || !refuse) {
				t.Errorf("%s, refuse %v: %q", rule, refuse, problem)
			}
		}
	}
}

// TestRestrictIsIntersection checks on random rules that they select an object if and only if the
// hook's rule and some entry do, or are refused.
func TestRestrictIsIntersection(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	pick := func(from ...string) string { return from[random.Intn(len(from))] }
	text := func() string {
		return "secrets" + pick("", "", " in a", " in b") + pick("", "", " named x", " named x,y", " named z") +
			pick("", "", " where k=v", " where k", " where !k") + pick("", "", " inside team=red", " inside team!=red")
	}
	refused, selected := 0, 0
	for range 1000 {
		entries := []string{text(), text()}[:1+random.Intn(2)]
		asked := text()
		limits := Limits{Declared: declarations(t, entries)}
		rule := ruleOf(t, asked)
		rules, problem := limits.restrict(rule)
		if problem != "" {
			refused++
		}
		for _, namespace := range []string{"a", "b", "c"} {
			for _, name := range []string{"x", "y", "z"} {
				for _, set := range []labels.Set{nil, {"k": "v"}, {"k": "w"}} {
					for _, team := range []labels.Set{{}, {"team": "red"}} {
						object := &candidate{namespace: namespace, name: name, labels: set, namespaceLabels: team}
						matches := func(r *Rule) bool { return r.matches(object) }
						declared := slices.ContainsFunc(entries, func(entry string) bool { return ruleOf(t, entry).matches(object) })
						want, got := problem == "" && rule.matches(object) && declared, slices.ContainsFunc(rules, matches)
						if got != want {
							t.Fatalf("%s, declared %q: %+v is selected: %v, want %v", asked, entries, object, got, want)
						}
						if got {
							selected++
						}
					}
				}
			}
		}
	}
	if refused < 100 || selected < 100 {
		t.Errorf("%d rules were refused and %d objects selected: the test shows little", refused, selected)
	}
}

func TestRuleList(t *testing.T) {
	named := func(n, names int) *Rule {
		rule := &Rule{resource: parenttest.Gadgets, selector: labels.Everything(), namespace: fmt.Sprint(n), names: map[string]bool{}}
		for i := range names {
			rule.names[fmt.Sprint(i)] = true
		}
		return rule
	}
	l := newRuleList(&Limits{})
	for i := range 1000 {
		if problem := l.add(named(i%100, 1)); problem != "" {
			t.Fatalf("rule %d: %s", i, problem)
		}
	}
	if len(l.rules) != 100 {
		t.Errorf("there are %d rules, want 100", len(l.rules))
	}
	if problem := l.add(named(100, 1)); !strings.Contains(problem, "at most 100 different rules") {
		t.Errorf("the rule after the last is refused by %q", problem)
	}
	l = newRuleList(&Limits{})
	for i := range 10 {
		if problem := l.add(named(i, 1000)); problem != "" {
			t.Fatalf("rule %d: %s", i, problem)
		}
	}
	if problem := l.add(ruleOf(t, "gadgets where k=v")); !strings.Contains(problem, "at most 10000 names") {
		t.Errorf("the label after the last name is refused by %q", problem)
	}
}
