// Package scripts_test tests package scripts against a real API server, with the JavaScript engine.
package scripts_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/javascript"
	"github.com/libretto-k8s/libretto/scripts"
	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

const patience = 30 * time.Second

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// counting counts what an engine compiles.
type counting struct {
	engines.Engine
	compiled atomic.Int64
}

func (c *counting) Compile(ctx context.Context, source engines.Source) (engines.Program, error) {
	c.compiled.Add(1)
	return c.Engine.Compile(ctx, source)
}

// fixture is a library, and the namespace with its scripts.
type fixture struct {
	*testing.T
	namespace string
	client    kubernetes.Interface // with every right
	library   *scripts.Library
	engine    *counting
}

// setUp makes a library whose client is the cluster's, changed by edit.
func setUp(t *testing.T, namespace string, edit func(*rest.Config)) *fixture {
	t.Helper()
	c := cluster.Get(t)
	f := &fixture{T: t, namespace: namespace, client: kubernetes.NewForConfigOrDie(c.Config), engine: &counting{}}
	definition := javascript.Definition()
	start := definition.New
	definition.New = func(config engines.Config) (engines.Engine, error) {
		engine, err := start(config)
		f.engine.Engine = engine
		return f.engine, err
	}
	registry, err := engines.NewRegistry(engines.Config{}, definition)
	env.NoError(t, err)
	config := rest.CopyConfig(c.Config)
	edit(config)
	f.library = scripts.NewLibrary(scripts.Config{Client: kubernetes.NewForConfigOrDie(config), Engines: registry, Log: logr.Discard()})
	return f
}

func unchanged(*rest.Config) {}

// open opens a tree on the ConfigMap hooks, whose sync.js answers sync.
func (f *fixture) open(changed func()) *scripts.Tree {
	f.Helper()
	tree, err := f.library.Open(scripts.Spec{
		Sources: []scripts.Source{{ConfigMap: &scripts.ConfigMap{Namespace: f.namespace, Name: "hooks"}}},
		Hooks:   map[string]scripts.Hook{"sync": {Path: "sync.js"}},
	}, changed)
	env.NoError(f, err)
	f.Cleanup(tree.Close)
	return tree
}

func script(answer int) string {
	return fmt.Sprintf("export function sync(request) { return %d; }\n", answer)
}

func (f *fixture) create(text string) {
	f.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "hooks"}, Data: map[string]string{"sync.js": text}}
	if _, err := f.client.CoreV1().ConfigMaps(f.namespace).Create(f.Context(), object, metav1.CreateOptions{}); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) patch(change any) {
	f.Helper()
	body, err := json.Marshal(change)
	env.NoError(f, err)
	api := f.client.CoreV1().ConfigMaps(f.namespace)
	if _, err := api.Patch(f.Context(), "hooks", "application/merge-patch+json", body, metav1.PatchOptions{}); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) edit(text string) {
	f.Helper()
	f.patch(map[string]any{"data": map[string]any{"sync.js": text}})
}

func (f *fixture) label(value string) {
	f.Helper()
	f.patch(map[string]any{"metadata": map[string]any{"labels": map[string]any{"touched": value}}})
}

func (f *fixture) remove() {
	f.Helper()
	env.NoError(f, f.client.CoreV1().ConfigMaps(f.namespace).Delete(f.Context(), "hooks", metav1.DeleteOptions{}))
}

// answer is what the tree's sync hook says, or an error if none serves.
func answer(ctx context.Context, tree *scripts.Tree) (any, error) {
	revision := tree.Current()
	if revision == nil {
		return nil, fmt.Errorf("nothing loaded: %s", tree.State().Message())
	}
	response, err := revision.Programs["sync"].Run(ctx, engines.Call{Request: map[string]any{}})
	return response.Body, err
}

// serves waits until the tree answers want and its problems are those.
func (f *fixture) serves(tree *scripts.Tree, want int, message string) {
	f.Helper()
	cluster.Eventually(f, patience, func() error {
		got, err := answer(f.Context(), tree)
		if err != nil {
			return err
		}
		if got != int64(want) || tree.State().Message() != message {
			return fmt.Errorf("answers %v with problems %q, want %d and %q", got, tree.State().Message(), want, message)
		}
		return nil
	})
}

// says waits until the tree's problems are those.
func (f *fixture) says(tree *scripts.Tree, message string) {
	f.Helper()
	cluster.Eventually(f, patience, func() error {
		if got := tree.State().Message(); got != message {
			return fmt.Errorf("problems %q, want %q", got, message)
		}
		return nil
	})
}
