// Package scripts_test tests package scripts against a real API server, with the JavaScript engine.
package scripts_test

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
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

// libraryEnv is an Env with a library of scripts in this process.
type libraryEnv struct {
	*env.Env
	library *scripts.Library
	engine  *counting
}

// newLibraryEnv makes a library whose client is the cluster's, changed by edit.
func newLibraryEnv(e *env.Env, edit func(*rest.Config)) *libraryEnv {
	e.T.Helper()
	f := &libraryEnv{Env: e, engine: &counting{}}
	definition := javascript.Definition()
	start := definition.New
	definition.New = func(config engines.Config) (engines.Engine, error) {
		engine, err := start(config)
		f.engine.Engine = engine
		return f.engine, err
	}
	registry, err := engines.NewRegistry(engines.Config{}, definition)
	e.NoError(err)
	config := rest.CopyConfig(e.Cluster.Config)
	edit(config)
	f.library = scripts.NewLibrary(scripts.Config{Client: kubernetes.NewForConfigOrDie(config), Engines: registry, Log: logr.Discard()})
	return f
}

func unchanged(*rest.Config) {}

// open opens a tree on the ConfigMap hooks, whose sync.js answers sync.
func (f *libraryEnv) open(changed func()) *scripts.Tree {
	f.T.Helper()
	tree, err := f.library.Open(scripts.Spec{
		Sources: []scripts.Source{{ConfigMap: &scripts.ConfigMap{Namespace: f.Namespace, Name: "hooks"}}},
		Hooks:   map[string]scripts.Hook{"sync": {Path: "sync.js"}},
	}, changed)
	f.NoError(err)
	f.T.Cleanup(tree.Close)
	return tree
}

func script(answer int) string {
	return fmt.Sprintf("export function sync(request) { return %d; }\n", answer)
}

func (f *libraryEnv) create(text string) {
	f.T.Helper()
	applyFiles(f.Env, "hooks", "sync.js", text)
}

func (f *libraryEnv) edit(text string) {
	f.T.Helper()
	f.Patch(env.ConfigMaps, "hooks", fmt.Sprintf(`{"data": {"sync.js": %s}}`, env.Quote(text)))
}

func (f *libraryEnv) label(value string) {
	f.T.Helper()
	f.Patch(env.ConfigMaps, "hooks", fmt.Sprintf(`{"metadata": {"labels": {"touched": %q}}}`, value))
}

// answer returns the answer of the tree's sync hook, or an error if none serves.
func answer(ctx context.Context, tree *scripts.Tree) (any, error) {
	revision := tree.Current()
	if revision == nil {
		return nil, fmt.Errorf("nothing loaded: %s", tree.State().Message())
	}
	response, err := revision.Programs["sync"].Run(ctx, engines.Call{Request: map[string]any{}})
	return response.Body, err
}

// waitForAnswer waits until the tree answers want and its problems are those.
func (f *libraryEnv) waitForAnswer(tree *scripts.Tree, want int, message string) {
	f.T.Helper()
	cluster.Eventually(f.T, patience, func() error {
		got, err := answer(f.T.Context(), tree)
		if err != nil {
			return err
		}
		if got != int64(want) || tree.State().Message() != message {
			return fmt.Errorf("answers %v with problems %q, want %d and %q", got, tree.State().Message(), want, message)
		}
		return nil
	})
}

// waitForMessage waits until the tree's problems are those.
func (f *libraryEnv) waitForMessage(tree *scripts.Tree, message string) {
	f.T.Helper()
	cluster.Eventually(f.T, patience, func() error {
		if got := tree.State().Message(); got != message {
			return fmt.Errorf("problems %q, want %q", got, message)
		}
		return nil
	})
}
