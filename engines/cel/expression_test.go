package cel

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExpressions(t *testing.T) {
	type list = []any
	type object = map[string]any
	cases := map[string]struct {
		reason, expression string
		want               any
	}{
		"fields":            {"fields of the request are variables", `[parent.metadata.name, finalizing, children['Pod.v1'].size(), request.parent.metadata.name]`, list{"web", false, int64(2), "web"}},
		"reserved words":    {"objects have fields of these names", `[parent.metadata.namespace, parent.spec.for, parent.spec['in']]`, list{"default", "f", "i"}},
		"odd keys":          {"labels have names like this", "[parent.metadata.labels.`app.kubernetes.io/name`, parent.metadata.labels['app.kubernetes.io/name']]", list{"x", "x"}},
		"has":               {"a field that may be missing", `[has(parent.spec.none), has(parent.spec.replicas), has(parent.spec.none) ? 1 : 2]`, list{false, true, int64(2)}},
		"optional":          {"a field that may be missing", `[parent.spec.?none.orValue('d'), parent.?spec.?none.?deeper.orValue(1), parent.spec.?replicas.orValue(0)]`, list{"d", int64(1), int64(3)}},
		"optional index":    {"an object that may be missing", `[children['Pod.v1'][?'default/none'].?metadata.hasValue(), children[?'None.v1'].orValue({}).size()]`, list{false, int64(0)}},
		"optional field":    {"CEL's own way to leave out a field", `{?'a': parent.spec.?none, ?'b': parent.spec.?replicas, 'l': [?parent.spec.?none, 1]}`, object{"b": int64(3), "l": list{int64(1)}}},
		"optional value":    {"an optional is its value, or is left out", `{'a': optional.none(), 'b': optional.of(1), 'l': [optional.none(), optional.of(optional.of(2))]}`, object{"b": int64(1), "l": list{int64(2)}}},
		"mixed literals":    {"objects are made of all types", `{'a': 1, 'b': 'two', 'c': [1, 'x', null, {'d': 1.5}], 'e': true}`, object{"a": int64(1), "b": "two", "c": list{int64(1), "x", nil, object{"d": 1.5}}, "e": true}},
		"mixed branches":    {"so are branches", `true ? dyn(1) : 'a'`, int64(1)},
		"mixed sum":         {"lists of objects of different fields", `[{'a': 1}] + dyn([{'b': 'x'}])`, list{object{"a": int64(1)}, object{"b": "x"}}},
		"numbers":           {"whole and other numbers compare", `[dyn(1) == 1.0, 1 < 1.5, parent.spec.replicas > 2.5, 2u >= 2]`, list{true, true, true, true}},
		"lists":             {"Kubernetes' lists", `[[3, 1].min(), [1, 2].sum(), ['a'].isSorted(), [1, 2].indexOf(2)]`, list{int64(1), int64(3), true, int64(1)}},
		"more lists":        {"cel-go's lists", `[[3, 1].sort(), [[1], [2]].flatten(), lists.range(3), [1, 2, 3].slice(0, 2), [1, 2].reverse(), [1, 1, 2, 1].distinct(), [{'n': 2}, {'n': 1}].sortBy(x, x.n)[0].n]`, list{list{int64(1), int64(3)}, list{int64(1), int64(2)}, list{int64(0), int64(1), int64(2)}, list{int64(1), int64(2)}, list{int64(2), int64(1)}, list{int64(1), int64(2)}, int64(1)}},
		"regex":             {"Kubernetes' and cel-go's", `['a1b2'.find('[0-9]'), 'a1b2'.findAll('[0-9]'), regex.replace('a1', '[0-9]', 'x'), 'abc'.matches('^a')]`, list{"1", list{"1", "2"}, "ax", true}},
		"URL":               {"Kubernetes' URLs", `[url('https://a.b:1/c').getHost(), isURL('x y')]`, list{"a.b:1", false}},
		"quantity":          {"Kubernetes' quantities", `[quantity('1Gi').add(quantity('1Gi')), quantity('100m').isLessThan(quantity('1')), isQuantity('x')]`, list{"2Gi", true, false}},
		"IP":                {"Kubernetes' addresses", `[cidr('10.0.0.0/8').containsIP('10.1.2.3'), ip('::1').family(), string(ip('10.0.0.1'))]`, list{true, int64(6), "10.0.0.1"}},
		"semver":            {"Kubernetes' versions", `[semver('1.2.3').isLessThan(semver('1.10.0')), isSemver('x')]`, list{true, false}},
		"format":            {"Kubernetes' formats", `[format.dns1123Label().validate('A b').hasValue(), format.named('dns1123Label').value().validate('ab').hasValue()]`, list{true, false}},
		"strings":           {"cel-go's strings", `['a,b'.split(','), ['a', 'b'].join('-'), ' x '.trim(), 'Ab'.lowerAscii(), '%s-%d'.format(['x', 3]), 'abc'.substring(1), 'aa'.replace('a', 'b')]`, list{list{"a", "b"}, "a-b", "x", "ab", "x-3", "bc", "bb"}},
		"math":              {"cel-go's math", `[math.greatest(1, 3, 2), math.least([2, 1]), math.ceil(1.2), math.abs(-1)]`, list{int64(3), int64(1), int64(2), int64(1)}},
		"base64":            {"cel-go's encoders", `[base64.encode(b'hi'), string(base64.decode('aGk='))]`, list{"aGk=", "hi"}},
		"bind":              {"a name for a value", `cel.bind(n, parent.metadata.name, [n, n])`, list{"web", "web"}},
		"two variables":     {"maps by key and value", `[{'a': 1}.transformList(k, v, k + string(v)), {'a': 1}.transformMap(k, v, v + 1), {'a': 'b'}.transformMapEntry(k, v, {v: k}), {'a': 1, 'b': 2}.transformMap(k, v, v > 1, v), [7].exists(i, v, i == 0 && v == 7)]`, list{list{"a1"}, object{"a": int64(2)}, object{"b": "a"}, object{"b": int64(2)}, true}},
		"empty transform":   {"a map of nothing", `{}.transformMap(k, v, v)`, object{}},
		"merge":             {"maps in maps merge, all else is replaced", `merge({'a': {'x': 1, 'y': [1]}, 'b': 1}, {'a': {'y': [2], 'z': null}, 'c': 2})`, object{"a": object{"x": int64(1), "y": list{int64(2)}, "z": nil}, "b": int64(1), "c": int64(2)}},
		"merge request":     {"what is not touched stays", `merge(parent.metadata, {'labels': {'new': 'l'}}).labels`, object{"app.kubernetes.io/name": "x", "new": "l"}},
		"merge kinds":       {"a map replaces what is none, and the other way round", `merge({'a': 1, 'b': {'c': 1}}, {'a': {'c': 1}, 'b': 1})`, object{"a": object{"c": int64(1)}, "b": int64(1)}},
		"exact integers":    {"int64 goes through whole", `[parent.spec.exact, parent.spec.exact + 2, 9007199254740993]`, list{int64(9007199254740993), int64(9007199254740995), int64(9007199254740993)}},
		"largest unsigned":  {"as far as int64 goes", `[9223372036854775807u, uint(5)]`, list{int64(9223372036854775807), int64(5)}},
		"whole doubles":     {"whole numbers are int64, as when JSON is decoded", `[4.0 / 2.0, 0.1, -0.0, 1e300]`, list{int64(2), 0.1, int64(0), 1e300}},
		"time":              {"as string() writes them", `[duration('90m'), timestamp('2026-10-03T12:00:00Z'), timestamp('2026-10-03T12:00:00Z').getHours()]`, list{"5400s", "2026-10-03T12:00:00Z", int64(12)}},
		"bytes":             {"as in a Secret's data", `{'data': b'hi'}`, object{"data": "aGk="}},
		"kubernetes' types": {"as their usual text", `[quantity('1500m'), ip('10.0.0.1'), cidr('10.0.0.0/8'), url('https://a/b'), semver('1.2.3')]`, list{"1500m", "10.0.0.1", "10.0.0.0/8", "https://a/b", "1.2.3"}},
		"comment":           {"CEL has comments", "// why\nparent.metadata.name // what", "web"},
		"null":              {"null is an answer", `null`, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			if diff := cmp.Diff(c.want, answerOf(t, script(c.expression), parentRequest())); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func parentRequest() map[string]any {
	return map[string]any{
		"parent": map[string]any{
			"metadata": map[string]any{"name": "web", "namespace": "default", "labels": map[string]any{"app.kubernetes.io/name": "x"}},
			"spec":     map[string]any{"replicas": int64(3), "exact": int64(9007199254740993), "for": "f", "in": "i"},
		},
		"children":   map[string]any{"Pod.v1": map[string]any{"default/a": map[string]any{}, "default/b": map[string]any{}}},
		"related":    map[string]any{},
		"finalizing": false,
	}
}
