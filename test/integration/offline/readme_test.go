package offline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// appliedExample is what a reader of a README applies, and what comes of it.
type appliedExample struct {
	// folders are applied one after another, relative to the example. None means the example itself.
	folders []string
	// file is the only one of an example without a kustomization.
	file string
	// before is a file of what others bring into the cluster.
	before string
	// try is the file with objects to try, NAME.yaml if empty.
	try string
	// object is GROUP/VERSION/RESOURCE/NAMESPACE/NAME of what the state is of. Namespace default may be left out.
	object string
	// want is a part of it in YAML.
	want string
	// row is what kubectl get shows of it, but for the age, if the README has it.
	row string
}

const ready = `{status: {conditions: [{type: Ready, status: "True"}]}}`

var appliedExamples = map[string]appliedExample{
	"bluegreen": {
		object: "ctl.example.com/v1/bluegreendeployments/shop", want: `{status: {active: blue, availableReplicas: 3}}`,
	},
	"catset": {
		object: "ctl.example.com/v1/catsets/demo/nginx", want: `{status: {replicas: 3, readyReplicas: 3}}`,
	},
	"decorator": {
		try: "statefulset.yaml", object: "/v1/services/web-1", want: `{spec: {clusterIP: None, ports: [{port: 80}]}}`,
	},
	"fallback": {
		object: "ctl.example.com/v1/rotas/support", want: ready, row: "support   6   True   somebody is on duty in every week",
	},
	"hello": {
		file: "hello.yaml", try: "greeting.yaml", object: "ctl.example.com/v1/greetings/world", want: `{status: {text: "Hello, world!"}}`,
		row: "world   Hello, world!",
	},
	"indexedjob": {
		object: "ctl.example.com/v1/indexedjobs/report", want: `{status: {succeeded: 3, completedIndexes: [0, 1, 2]}}`,
	},
	"map": {
		file: "map.yaml", try: "catalog.yaml", object: "ctl.example.com/v1/catalogs/shop", want: `{status: {outputs: {configmaps: {total: 2}}}}`,
		row: "shop   2   2",
	},
	"migration": {
		folders: []string{"before", "unchanged", ""}, object: "ctl.example.com/v1/pages/welcome",
		want: `{status: {readyReplicas: 2, state: Running}}`, row: "welcome   2   2   Running",
	},
	"namespacedefaults": {
		try: "namespace.yaml", object: "networking.k8s.io/v1/networkpolicies/team-a/*", want: "{}",
	},
	"previews": {
		object: "ctl.example.com/v1/previewsets/shop", want: `{status: {total: 3, ready: 2, queued: 1}}`, row: "shop   3   2   1",
	},
	"secretpropagation": {
		object: "ctl.example.com/v1/secretpropagations//registry", want: ready, row: "registry   registry   2   True   Copied",
	},
	"snapshotschedule": {
		before: "testdata/volumesnapshots.yaml", object: "ctl.example.com/v1/snapshotschedules/nightly",
		want: `{status: {outputs: {volumesnapshots: {total: 1}}}}`, row: "nightly   24h   72h   1   1",
	},
	"teardown": {
		object: "ctl.example.com/v1/messagequeues/mail", want: `{status: {phase: Running}}`, row: "mail   2   Running   2 of 2 replicas are available",
	},
	"ttl": {
		object: "ctl.example.com/v1/cleanups/generated", want: `{status: {configMaps: 2, unused: 1}}`, row: "generated   2   1",
	},
	"webapp": {
		folders: []string{"", "jsonnet", "cel"}, object: "ctl.example.com/v1/webapps/blog", want: ready,
		row: "blog   2   True   http://blog.example.com/",
	},
}

// TestApply does what the READMEs of the examples begin with: kubectl applies the example, with the API server's validation of all fields, and
// the object to try comes to the state that the README shows.
func TestApply(t *testing.T) {
	e := env.New(t)
	e.Start()
	root, err := cluster.Root()
	env.NoError(t, err)
	folder := filepath.Join(root, "examples")
	t.Cleanup(func() { cleanUpApplied(e, folder) })
	for name, a := range appliedExamples {
		t.Run(name, func(t *testing.T) { a.run(e.WithT(t), name, filepath.Join(folder, name)) })
	}
}

// cleanUpApplied deletes the objects to try, and the definitions. It waits for neither: no other test comes after this one.
func cleanUpApplied(e *env.Env, folder string) {
	args := []string{"delete", "--ignore-not-found", "--wait=false"}
	for name, a := range appliedExamples {
		args = append(args, "-f", a.tried(name, filepath.Join(folder, name)))
	}
	_, err := e.Cluster.Kubectl(context.Background(), args...)
	_, alsoErr := e.Cluster.Kubectl(context.Background(), "delete", "compositecontrollers,decoratorcontrollers,mapcontrollers", "--all", "--wait=false")
	if err = errors.Join(err, alsoErr); err != nil {
		e.T.Error(err)
	}
}

// kustomizations returns the folders that are applied one after another.
func (a appliedExample) kustomizations() []string {
	if len(a.folders) == 0 {
		return []string{""}
	}
	return a.folders
}

// tried returns the file with objects to try.
func (a appliedExample) tried(name, folder string) string {
	if a.try != "" {
		return filepath.Join(folder, a.try)
	}
	return filepath.Join(folder, name+".yaml")
}

func (a appliedExample) run(e *env.Env, name, folder string) {
	e.T.Helper()
	apply := func(args ...string) { e.Kubectl(append([]string{"apply", "--validate=strict"}, args...)...) }
	if a.before != "" {
		apply("-f", filepath.Join(folder, a.before))
	}
	if a.file != "" {
		apply("-f", filepath.Join(folder, a.file))
	} else {
		for _, below := range a.kustomizations() {
			apply("-k", filepath.Join(folder, below))
		}
	}
	e.Eventually(func() error { // The API server may not serve a new resource at once.
		_, err := e.Cluster.Kubectl(e.T.Context(), "apply", "--validate=strict", "-f", a.tried(name, folder))
		return err
	})
	a.waitForState(e)
	if a.row != "" {
		a.checkRow(e, filepath.Join(folder, "README.md"))
	}
}

// waitForState waits for the state of the object.
func (a appliedExample) waitForState(e *env.Env) {
	e.T.Helper()
	var want any
	e.NoError(yaml.Unmarshal([]byte(a.want), &want))
	resource, namespace, name := a.parts()
	e = e.InNamespace(namespace)
	e.Eventually(func() error {
		found := e.List(resource, "")
		for one, o := range found {
			if name != "*" && one != name {
				continue
			}
			got := common(decoded(o.Object), want)
			if diff := cmp.Diff(want, got); diff != "" {
				return fmt.Errorf("%s (-want +cluster):\n%s", a.object, diff)
			}
			return nil
		}
		return fmt.Errorf("there is no %s", a.object)
	})
}

func (a appliedExample) parts() (resource schema.GroupVersionResource, namespace, name string) {
	parts := strings.Split(a.object, "/")
	if len(parts) == 4 {
		parts = slices.Insert(parts, 3, "default")
	}
	return schema.GroupVersionResource{Group: parts[0], Version: parts[1], Resource: parts[2]}, parts[3], parts[4]
}

// checkRow checks that kubectl get shows what the README says that it shows.
func (a appliedExample) checkRow(e *env.Env, readme string) {
	e.T.Helper()
	text, err := os.ReadFile(readme)
	e.NoError(err)
	if !strings.Contains(string(text), a.row) {
		e.T.Errorf("%s does not have what kubectl get shows: %s", readme, a.row)
	}
	resource, namespace, name := a.parts()
	out := e.Kubectl("get", resource.GroupResource().String(), name, "--no-headers", "--namespace="+namespace)
	if got := strings.Join(strings.Fields(out), " "); !strings.HasPrefix(got, strings.Join(strings.Fields(a.row), " ")) {
		e.T.Errorf("kubectl get shows %q, want %q", got, a.row)
	}
}
