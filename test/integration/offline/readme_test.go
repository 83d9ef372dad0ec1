package offline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// appliedExample is what a reader of a README applies, and the result.
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
	var tried []string
	t.Cleanup(func() { cleanUpApplied(e, tried) })
	for name, a := range appliedExamples {
		t.Run(name, func(t *testing.T) {
			a.apply(e.WithT(t), filepath.Join(folder, name))
			file := filepath.Join(folder, name, cmp.Or(a.try, name+".yaml"))
			tried = append(tried, "-f", file)
			a.tryOut(e.WithT(t), file)
			a.checkRow(e.WithT(t), filepath.Join(folder, name, "README.md"))
			a.checkRevisions(e.WithT(t), filepath.Join(folder, name))
		})
	}
}

// cleanUpApplied deletes the objects to try, and the definitions. It waits for neither: no other test comes after this one.
func cleanUpApplied(e *env.Env, tried []string) {
	_, err := e.Cluster.Kubectl(context.Background(), append([]string{"delete", "--ignore-not-found", "--wait=false"}, tried...)...)
	_, alsoErr := e.Cluster.Kubectl(context.Background(), "delete", "compositecontrollers,decoratorcontrollers,mapcontrollers", "--all", "--wait=false")
	if err = errors.Join(err, alsoErr); err != nil {
		e.T.Error(err)
	}
}

// apply applies the definition with its scripts.
func (a appliedExample) apply(e *env.Env, folder string) {
	e.T.Helper()
	if a.before != "" {
		e.Kubectl("apply", "--validate=strict", "-f", filepath.Join(folder, a.before))
	}
	if a.file != "" {
		e.Kubectl("apply", "--validate=strict", "-f", filepath.Join(folder, a.file))
		return
	}
	if len(a.folders) == 0 {
		a.folders = []string{""}
	}
	for _, below := range a.folders {
		e.Kubectl("apply", "--validate=strict", "-k", filepath.Join(folder, below))
	}
}

// checkRevisions checks that the IDs that libretto revision prints of what was applied last are those of the host.
func (a appliedExample) checkRevisions(e *env.Env, folder string) {
	e.T.Helper()
	path := filepath.Join(folder, a.file)
	if len(a.folders) > 0 {
		path = filepath.Join(folder, a.folders[len(a.folders)-1])
	}
	if checkRevisions(e, path) == 0 {
		e.T.Errorf("%s has no scripts", path)
	}
}

// tryOut applies the objects to try, and waits for the state of the one that matters.
func (a appliedExample) tryOut(e *env.Env, file string) {
	e.T.Helper()
	e.Eventually(func() error { // The API server may not serve a new resource at once.
		_, err := e.Cluster.Kubectl(e.T.Context(), "apply", "--validate=strict", "-f", file)
		return err
	})
	var want any
	e.NoError(yaml.Unmarshal([]byte(a.want), &want))
	resource, namespace, name := a.parts()
	e.Eventually(func() error {
		for one, o := range e.InNamespace(namespace).List(resource, "") {
			if name != "*" && one != name {
				continue
			}
			if diff := gocmp.Diff(want, common(decoded(o.Object), want)); diff != "" {
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

// checkRow checks that kubectl get shows what the README says that it shows, if that is in it.
func (a appliedExample) checkRow(e *env.Env, readme string) {
	e.T.Helper()
	if a.row == "" {
		return
	}
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
