package cel

import (
	_ "embed"
	"testing"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
)

//go:embed testdata/statefulset.cel.yaml
var statefulSet string

// hooks are the suite's hooks.
var hooks = map[enginetest.Hook]string{
	enginetest.Echo:        `request.value`,
	enginetest.Numbers:     `{'one': 1, 'half': 3.0 / 2.0, 'negative': -3, 'large': 9007199254740991, 'product': request.a * request.b}`,
	enginetest.Change:      `{'labels': merge(request.labels, {'a': 'changed'}), 'list': request.list.sort()}`,
	enginetest.Count:       `{'calls': 1}`,
	enginetest.Never:       `lists.range(1000).all(a, lists.range(1000).all(b, lists.range(1000).all(c, !'aaaaaaaaaaaaaaaa'.matches('(x+x+)+y' + string(c)))) || true)`,
	enginetest.Fail:        "{\n  'a': 1,\n  'b': request.size() < 100 ? fail('boom') : 1}",
	enginetest.Invalid:     "{\n  'a': request.b.c +,\n}",
	enginetest.StatefulSet: statefulSet,
}

func source(hook enginetest.Hook) engines.Source {
	path := "sync.cel"
	if hook == enginetest.StatefulSet {
		path = "sync.cel.yaml"
	}
	return files(path, map[string]string{path: hooks[hook]})
}

func TestConformance(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Definition: Definition(),
		Source:     func(_ *testing.T, hook enginetest.Hook) engines.Source { return source(hook) },
		FailsAt:    engines.Location{File: "sync.cel", Line: 3, Column: 35},
		InvalidAt:  engines.Location{File: "sync.cel", Line: 2, Column: 21},
		Exempt:     map[string]string{"time dependent": "CEL has no clock"},
	})
}
