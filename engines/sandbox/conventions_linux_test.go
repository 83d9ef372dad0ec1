package sandbox_test

import (
	"io/fs"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox"
	"github.com/libretto-k8s/libretto/engines/standard"
	"github.com/libretto-k8s/libretto/test/race"
)

// nodeHook is a hook for metacontroller's Node.js function server.
const nodeHook = `
module.exports = async function (context) {
  const observed = context.request.body;
  const desired = {status: {}, children: []};
  try {
    const {name} = observed.parent.metadata;
    desired.status.observed = Object.keys(observed.children['Pod.v1']).length;
    for (const i of await Promise.all([0, 1].map(async i => i))) {
      desired.children.push({apiVersion: 'v1', kind: 'Pod', metadata: {name: name + '-' + i}});
    }
  } catch (e) {
    return {status: 500, body: e.stack};
  }
  return {status: 200, body: desired, headers: {'Content-Type': 'application/json'}};
};
`

// TestConventions runs hooks with other hosts' conventions, and a program of many files, in a worker and
// in this process, and compares the answers. The engines' own tests check the answers in this process.
func TestConventions(t *testing.T) {
	observed := map[string]any{"Pod.v1": map[string]any{"a": map[string]any{"status": map[string]any{"ready": true}}}}
	cases := map[string]struct {
		reason, engine string
		script         engines.Script
		metadata, spec map[string]any
	}{
		"Node.js function server": {
			"an async function of a context gives back a status and a body", "JavaScript",
			engines.Script{Files: map[string]string{"sync.js": nodeHook}, Path: "sync.js", Signature: engines.HTTPContext},
			map[string]any{"name": "web"}, nil,
		},
		"jsonnetd": {
			"a function of the request, with jsonnetd's native functions", "Jsonnet",
			engines.Script{Files: tree(t, "../jsonnet/testdata", "jsonnetd.jsonnet"), Path: "jsonnetd.jsonnet"},
			map[string]any{"name": "web", "annotations": map[string]any{"config": `{"replicas": 2, "mode": "755", "spec": {"containers": []}}`}}, nil,
		},
		"many files": {
			"imports, inheritance, comprehensions and formats", "Jsonnet",
			engines.Script{Files: tree(t, "../jsonnet/testdata/shop", "."), Path: "main.jsonnet"},
			map[string]any{"name": "greengrocer"},
			map[string]any{"replicas": int64(3), "image": "registry.example.com:5000/shop:1.2", "ports": []any{int64(80), int64(8080)}, "config": map[string]any{"zone": "eu-west"}},
		},
	}
	pool := newPool(t, sandbox.Config{})
	here, err := engines.NewRegistry(engines.Config{}, standard.Scripts()...)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			inProcess, err := here.ByName(c.engine)
			if err != nil {
				t.Fatal(err)
			}
			request := map[string]any{"parent": map[string]any{"metadata": c.metadata, "spec": c.spec}, "children": observed}
			want := answerOf(t, inProcess, c.script, request)
			if diff := cmp.Diff(want, answerOf(t, engineOf(t, pool, c.engine), c.script, request)); diff != "" {
				t.Errorf("answer (-in this process +in a worker):\n%s", diff)
			}
			if children, _ := want.(map[string]any)["children"].([]any); len(children) < 2 {
				t.Errorf("the hook answers %v, without its children", want)
			}
		})
	}
}

// TestTimeZones looks up a time zone in CEL: a worker has no files for it.
func TestTimeZones(t *testing.T) {
	script := engines.Script{Files: map[string]string{"sync.cel": `{'hour': timestamp('2026-07-01T00:00:00Z').getHours('Europe/Paris')}`}, Path: "sync.cel"}
	got := answerOf(t, engineOf(t, newPool(t, sandbox.Config{}), "CEL"), script, nil)
	if diff := cmp.Diff(any(map[string]any{"hour": int64(2)}), got); diff != "" {
		t.Errorf("midnight in UTC in a summer's Paris (-want +got):\n%s", diff)
	}
}

// TestDeepRecursion recurses endlessly in Jsonnet. The engine's own limit stops it before the worker's
// stack limit does.
func TestDeepRecursion(t *testing.T) {
	race.Skip(t)
	registry := prometheus.NewRegistry()
	pool := newPool(t, sandbox.Config{Workers: 1, Metrics: sandbox.NewMetrics(registry)})
	program, err := engineOf(t, pool, "Jsonnet").Compile(t.Context(), engines.Source{Hook: "sync", Script: &engines.Script{
		Files: map[string]string{"sync.jsonnet": `function(request) local f(n) = if n == 0 then 0 else 1 + f(n - 1) tailstrict; f(request.value)`}, Path: "sync.jsonnet",
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = program.Run(t.Context(), request(int64(1_000_000)))
	wantError(t, err, engines.Exhausted, "")
	if ends := figures(t, registry, "libretto_script_worker_ends_total", "reason"); len(ends) > 0 {
		t.Errorf("it has cost a worker: %v", ends)
	}
	if response, err := program.Run(t.Context(), request(int64(10))); err != nil || response.Body != int64(10) {
		t.Errorf("the same hook, afterwards: %v, error %v", response.Body, err)
	}
}

func answerOf(t *testing.T, engine engines.Engine, script engines.Script, request map[string]any) any {
	t.Helper()
	program, err := engine.Compile(t.Context(), engines.Source{Hook: "sync", Script: &script})
	if err != nil {
		t.Fatal(err)
	}
	response, err := program.Run(t.Context(), engines.Call{Request: request})
	if err != nil {
		t.Fatal(err)
	}
	return response.Body
}

// tree reads the files of a folder below a path.
func tree(t *testing.T, folder, below string) map[string]string {
	t.Helper()
	files, root := map[string]string{}, os.DirFS(folder)
	err := fs.WalkDir(root, below, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(root, path)
		files[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
