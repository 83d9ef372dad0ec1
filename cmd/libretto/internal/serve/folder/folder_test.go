package folder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/controllers/manifest/kustomize"
	"github.com/libretto-k8s/libretto/test/cluster"
)

// TestMain builds kustomizations too: the folder starts the test binary for that.
func TestMain(m *testing.M) {
	kustomize.Main()
	os.Exit(m.Run())
}

// definition returns a CompositeController whose script is in a ConfigMap, in the lines of its metadata.
func definition(metadata, configMap string) string {
	return `apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: ` + metadata + `
spec:
  generateSelector: true
  parentResource: {apiVersion: example.com/v1, resource: shops}
  scriptSources: [{configMap: ` + configMap + `}]
  hooks: {sync: {version: v2, script: {path: sync.js}}}
`
}

// configMap returns a ConfigMap with a script.
func configMap(metadata string) string {
	return "{apiVersion: v1, kind: ConfigMap, metadata: " + metadata + ", data: {sync.js: 'export const sync = () => ({children: []});'}}\n"
}

// namespaced returns a definition with a namespace in the place of one without.
func namespaced(text string) string {
	return strings.Replace(text, "metacontroller.k8s.io", "libretto.dev", 1)
}

// harness is a folder, what it was applied to, and what was logged.
type harness struct {
	*Folder
	*testing.T
	client *fake.FakeDynamicClient
	events *record.FakeRecorder
	clock  *clocktesting.FakeClock

	mu      sync.Mutex
	applied []string
	log     []string
	refuse  map[string]error // By name.
}

// newHarness returns a folder with files on a cluster with definitions.
func newHarness(t *testing.T, files map[string]string, live ...runtime.Object) *harness {
	t.Helper()
	h := &harness{T: t, events: record.NewFakeRecorder(100), clock: clocktesting.NewFakeClock(time.Now()), refuse: map[string]error{}}
	kinds := map[schema.GroupVersionResource]string{}
	for _, kind := range v1alpha1.DefinitionTypes() {
		kinds[v1alpha1.DefinitionResource(kind)] = kind.Kind + "List"
	}
	h.client = fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, live...)
	h.client.PrependReactor("patch", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		patch := action.(clienttesting.PatchAction)
		if patch.GetPatchType() != types.ApplyPatchType {
			t.Errorf("a patch of type %s", patch.GetPatchType())
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.applied = append(h.applied, strings.TrimPrefix(action.GetNamespace()+"/", "/")+action.GetResource().Resource+"/"+patch.GetName())
		return true, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}, h.refuse[patch.GetName()]
	})
	root := t.TempDir()
	for name, text := range files {
		h.write(root, name, text)
	}
	log := funcr.New(func(_, args string) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.log = append(h.log, args)
	}, funcr.Options{})
	h.Folder = New(Config{Path: root, Namespace: "host", Target: labels.Everything(), Clock: h.clock, Log: log}, prometheus.NewRegistry())
	return h
}

func (h *harness) write(root, name, text string) {
	h.Helper()
	if err := os.MkdirAll(root, 0o755); err != nil {
		h.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
		h.Fatal(err)
	}
}

// start follows and applies the folder until the test ends.
func (h *harness) start() {
	ctx, cancel := context.WithCancel(h.Context())
	var running sync.WaitGroup
	running.Go(func() { h.Follow(ctx) })
	running.Go(func() { h.Apply(ctx, h.client, h.events) })
	h.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// waitForLog waits until a line of the log has all parts.
func (h *harness) waitForLog(parts ...string) {
	h.Helper()
	has := func(line string) bool {
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) })
	}
	cluster.Eventually(h, timeout, func() error {
		h.mu.Lock()
		defer h.mu.Unlock()
		if !slices.ContainsFunc(h.log, has) {
			return fmt.Errorf("no line has %q:\n%s", parts, strings.Join(h.log, "\n"))
		}
		return nil
	})
}

// timeout limits the wait for anything.
const timeout = 20 * time.Second

// takeApplied returns what was applied since it was called last.
func (h *harness) takeApplied() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.applied
	h.applied = nil
	return all
}

// refusing is a listener that can't apply its part.
type refusing struct{}

func (refusing) Read(map[string]string, *manifest.Set, []error) {}
func (refusing) Applied([]error)                                {}
func (refusing) Prepare(context.Context, *manifest.Set) []error {
	return []error{errors.New("b.yaml:1:1: no such kind")}
}

// ending is a listener during whose part the process ends.
type ending struct {
	refusing
	end func()
}

func (e ending) Prepare(ctx context.Context, _ *manifest.Set) []error {
	e.end()
	return []error{ctx.Err()}
}

// TestEnd ends the process while a listener has its part: what did not come to its end is no failure.
func TestEnd(t *testing.T) {
	h := newHarness(t, map[string]string{"d.yaml": definition("{name: a}", "{namespace: x, name: hooks}")})
	ctx, cancel := context.WithCancel(t.Context())
	h.config.Listener = ending{end: cancel}
	var following sync.WaitGroup
	following.Go(func() { h.Follow(ctx) })
	h.Apply(ctx, h.client, h.events)
	following.Wait()
	if len(h.log) > 0 || len(h.applied) > 0 {
		t.Errorf("it logs %q, and applies %q", h.log, h.applied)
	}
}

func TestApply(t *testing.T) {
	conflict := apierrors.NewApplyConflict([]metav1.StatusCause{
		{Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "kubectl-edit" using v1`, Field: ".spec.hooks"},
	}, "conflict")
	for name, c := range map[string]struct {
		reason string
		files  map[string]string
		set    func(*harness)
		want   []string
		logs   []string // Parts of a line each, separated by |.
		failed float64
	}{
		"order": {
			reason: "ConfigMaps come first, once, and without a namespace they and definitions get that of the host",
			files: map[string]string{
				"a.yaml": definition("{name: a}", "{namespace: host, name: hooks}"),
				"b.yaml": namespaced(definition("{name: b}", "{name: hooks}")),
				"c.yaml": configMap("{name: hooks}"),
			},
			want: []string{"host/configmaps/hooks", "compositecontrollers/a", "host/namespacedcompositecontrollers/b"},
			logs: []string{`the folder was applied|"definitions"=2 "notApplied"=0`},
		},
		"others": {
			reason: "nothing else is applied, and scripts and tests are no manifests",
			files: map[string]string{
				"a.yaml":        definition("{name: a}", "{namespace: elsewhere, name: hooks}"),
				"b.yaml":        configMap("{namespace: host, name: unused}") + "---\n{apiVersion: example.com/v1, kind: Shop, metadata: {name: s}}\n",
				"a_test.yaml":   "{apiVersion: libretto.dev/v1alpha1, kind: ControllerTest}\n",
				"tsconfig.json": "{", "sync.js": "",
			},
			want: []string{"compositecontrollers/a"},
			logs: []string{"not applied: a host applies|ConfigMap host/unused, Shop s"},
		},
		"kustomization": {
			reason: "a kustomization is built",
			files: map[string]string{
				"kustomization.yaml": "namePrefix: our-\nresources: [a.yaml]\n",
				"a.yaml":             definition("{name: a}", "{namespace: elsewhere, name: hooks}"),
				"b.yaml":             definition("{name: b}", "{namespace: elsewhere, name: hooks}"),
			},
			want: []string{"compositecontrollers/our-a"},
		},
		"broken": {
			reason: "of a folder with a broken file nothing is applied",
			files: map[string]string{
				"a.yaml": definition("{name: a}", "{namespace: elsewhere, name: hooks}"),
				"b.yaml": strings.Replace(definition("{name: b}", "{}"), "hooks:", "hoks:", 1),
			},
			logs:   []string{"nothing of the folder is applied until this is corrected|b.yaml:8:9: |unknown field spec.hoks"},
			failed: 3,
		},
		"refused ConfigMap": {
			reason: "a definition is not applied before its scripts",
			files: map[string]string{
				"a.yaml": definition("{name: a}", "{namespace: x, name: hooks}"), "b.yaml": definition("{name: b}", "{namespace: x, name: others}"),
				"c.yaml": configMap("{namespace: x, name: hooks}"),
			},
			set:    func(h *harness) { h.refuse["hooks"] = conflict },
			want:   []string{"x/configmaps/hooks", "compositecontrollers/b"},
			logs:   []string{"CompositeController a|a.yaml:1:1|ConfigMap x/hooks: others hold spec.hooks (kubectl-edit) with other values", `"notApplied"=1`},
			failed: 1,
		},
		"others refused": {
			reason: "what another applies of the folder is in the log, too, and is none of its definitions",
			files:  map[string]string{"a.yaml": definition("{name: a}", "{namespace: x, name: hooks}")},
			set:    func(h *harness) { h.config.Listener = refusing{} },
			want:   []string{"compositecontrollers/a"},
			logs:   []string{"part of the folder is not applied|b.yaml:1:1: no such kind", `the folder was applied|"definitions"=1 "notApplied"=0`},
			failed: 1,
		},
		"no kind": {
			reason: "the CustomResourceDefinitions may be missing",
			files:  map[string]string{"a.yaml": definition("{name: a}", "{namespace: x, name: hooks}")},
			set:    func(h *harness) { h.refuse["a"] = apierrors.NewNotFound(schema.GroupResource{}, "a") },
			want:   []string{"compositecontrollers/a"}, logs: []string{"kubectl apply -k manifests/crd"}, failed: 1,
		},
		"other labels": {
			reason: "what this host would not host it does not apply, nor its ConfigMap",
			files: map[string]string{
				"a.yaml": definition("{name: a}", "{namespace: host, name: hooks}"), "c.yaml": configMap("{name: hooks}"),
				"b.yaml": definition("{name: b, labels: {team: shop}}", "{namespace: host, name: others}"),
			},
			set:  func(h *harness) { h.config.Target = labels.SelectorFromSet(labels.Set{"team": "shop"}) },
			want: []string{"compositecontrollers/b"}, logs: []string{"--target-label-selector=team=shop|CompositeController a", "ConfigMap hooks"},
			failed: 1,
		},
		"other namespaces": {
			reason: "the same with --namespaces",
			files: map[string]string{
				"a.yaml": definition("{name: a}", "{namespace: host, name: hooks}"),
				"b.yaml": namespaced(definition("{name: b}", "{name: hooks}")),
				"c.yaml": namespaced(definition("{name: c, namespace: shop}", "{name: hooks}")),
			},
			set:    func(h *harness) { h.config.Namespaces = []string{"shop"} },
			want:   []string{"shop/namespacedcompositecontrollers/c"},
			logs:   []string{"CompositeController a|hosts only definitions of libretto.dev", "CompositeController host/b|not among --namespaces"},
			failed: 2,
		},
		"missing": {
			reason: "without a folder nothing is ready",
			set:    func(h *harness) { h.config.Path = filepath.Join(h.config.Path, "x") },
			logs:   []string{"nothing of the folder is applied|no such file or directory"}, failed: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			h := newHarness(t, c.files)
			if c.set != nil {
				c.set(h)
			}
			if h.Err() == nil {
				t.Error("it is ready before it was read")
			}
			h.start()
			for _, line := range append(c.logs, "the folder") {
				h.waitForLog(strings.Split(line, "|")...)
			}
			cluster.Eventually(t, timeout, func() error {
				if got := testutil.ToFloat64(h.problems); got != c.failed {
					return fmt.Errorf("%v problems, want %v", got, c.failed)
				}
				return nil
			})
			if diff := cmp.Diff(c.want, h.takeApplied()); diff != "" {
				t.Errorf("applied (-want +got):\n%s", diff)
			}
			if err := h.Err(); (err != nil) != (c.want == nil) {
				t.Errorf("readiness: %v", err)
			}
		})
	}
}

// TestChanges swaps the volume of a ConfigMap, meets a conflict and tries again until it is settled, and tells of a definition that is gone.
func TestChanges(t *testing.T) {
	live := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": "CompositeController", "metadata": map[string]any{"name": "a"},
	}}
	live.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: FieldManager, Operation: metav1.ManagedFieldsOperationApply}})
	h := newHarness(t, nil, live)
	swap := func(n int, name, text string) {
		t.Helper()
		root, next := h.config.Path, fmt.Sprintf("..%d", n)
		h.write(filepath.Join(root, next), name, text)
		for link, target := range map[string]string{"..data": next, name: "..data/" + name} {
			if err := os.Symlink(target, filepath.Join(root, ".tmp")); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(root, ".tmp"), filepath.Join(root, link)); err != nil {
				t.Fatal(err)
			}
		}
	}
	swap(0, "d.yaml", definition("{name: a}", "{namespace: x, name: hooks}"))
	h.start()
	h.waitForLog("the folder was applied", `"definitions"=1`)
	h.mu.Lock()
	h.refuse["a"] = apierrors.NewConflict(schema.GroupResource{}, "a", context.Canceled)
	h.mu.Unlock()
	swap(1, "d.yaml", definition("{name: a, labels: {b: c}}", "{namespace: x, name: hooks}"))
	h.waitForLog("a definition of the folder is not applied", "CompositeController a")
	if event := <-h.events.Events; !strings.Contains(event, corev1.EventTypeWarning+" "+reasonNotApplied+" ") || !strings.Contains(event, "d.yaml:1:1") {
		t.Errorf("the event is %s", event)
	}
	h.takeApplied()
	for _, backoff := range []time.Duration{time.Second, 2 * time.Second} {
		cluster.Eventually(t, timeout, func() error {
			if !h.clock.HasWaiters() {
				return errors.New("it is not tried again")
			}
			return nil
		})
		if h.clock.Step(backoff - 1); len(h.takeApplied()) > 0 {
			t.Errorf("it was tried again before %s", backoff)
		}
		h.clock.Step(1)
		<-h.events.Events
		if applied := h.takeApplied(); len(applied) != 1 {
			t.Errorf("after %s %q was applied", backoff, applied)
		}
	}
	h.mu.Lock()
	delete(h.refuse, "a")
	h.mu.Unlock()
	swap(2, "d.yaml", definition("{name: b}", "{namespace: x, name: hooks}"))
	h.waitForLog("the folder does not have it any more", `"delete"="kubectl delete compositecontroller/a"`)
	if testutil.ToFloat64(h.problems) != 0 {
		t.Errorf("there are still problems")
	}
}
