package dev

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// maxPasses is how many passes are kept, and maxLogs how many lines of hooks.
const maxPasses, maxLogs = 500, 500

// pass is what is shown of a pass in a list, and passDetails all of it.
type (
	pass struct {
		ID             int64     `json:"id"`
		Time           time.Time `json:"time"`
		DurationMillis float64   `json:"durationMillis"`
		Definition     string    `json:"definition"`
		Parent         reference `json:"parent"`
		Hooks          []string  `json:"hooks"`
		Writes         []write   `json:"writes"`
		Error          string    `json:"error"`
	}
	passDetails struct {
		pass
		Calls  []call  `json:"calls"`
		Writes []write `json:"writes"` // They are made when somebody looks at them.

		mu     sync.Mutex // Calls and writes are concurrent.
		writes []memcluster.Write
	}
	reference struct {
		APIVersion string    `json:"apiVersion"`
		Kind       string    `json:"kind"`
		Namespace  string    `json:"namespace"`
		Name       string    `json:"name"`
		UID        types.UID `json:"uid"`
	}
	write struct {
		Verb      string `json:"verb"`
		Kind      string `json:"kind"`
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
		Error     string `json:"error"`
		// Before and After are absent in lists, and where there is nothing.
		Before map[string]any `json:"before,omitempty"`
		After  map[string]any `json:"after,omitempty"`
	}
	call struct {
		Hook     string         `json:"hook"`
		Subject  string         `json:"subject"`
		Request  map[string]any `json:"request"`
		Response any            `json:"response"`
		Reads    []string       `json:"reads"`
		Logs     []string       `json:"logs"`
		Error    string         `json:"error"`
	}
	logLine struct {
		Time       time.Time `json:"time"`
		Definition string    `json:"definition"`
		Hook       string    `json:"hook"`
		Parent     string    `json:"parent"`
		Text       string    `json:"text"`
	}
)

// recorder records passes. It is a parent.Observer.
type recorder struct {
	stream *stream
	// ended is called after a pass, with its error.
	ended func(parent types.UID, message string)

	mu     sync.Mutex
	last   int64
	logged int
	passes map[int64]*passDetails
}

type passKey struct{}

// Begin returns a context in which a pass is recorded.
func (r *recorder) Begin(ctx context.Context, definition string, parent *unstructured.Unstructured) context.Context {
	return context.WithValue(ctx, passKey{}, &passDetails{pass: pass{
		Time: time.Now(), Definition: definition, Hooks: []string{}, Parent: reference{
			parent.GetAPIVersion(), parent.GetKind(), parent.GetNamespace(), parent.GetName(), parent.GetUID(),
		},
	}})
}

// passOf returns the pass that a context is of, or nil.
func passOf(ctx context.Context) *passDetails {
	p, _ := ctx.Value(passKey{}).(*passDetails)
	return p
}

// Called records a call. Its request and response are what others share and nobody changes.
func (r *recorder) Called(ctx context.Context, hook string, asked engines.Call, response engines.Response, err error) {
	p := passOf(ctx)
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Calls = append(p.Calls, call{
		Hook: hook, Subject: asked.Subject, Request: asked.Request, Response: response.Body, Reads: append([]string{}, response.Read...),
		Logs: append([]string{}, response.Logs...), Error: textOf(err),
	})
	if !slices.Contains(p.Hooks, hook) {
		p.Hooks = append(p.Hooks, hook)
	}
	parent := strings.TrimPrefix(p.Parent.Namespace+"/"+p.Parent.Name, "/")
	for _, line := range response.Logs {
		r.log(logLine{time.Now(), p.Definition, hook, parent, line})
	}
}

func (r *recorder) log(line logLine) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logged++
	r.stream.put(fmt.Sprint("log/", r.logged), "log", line)
	r.stream.drop(fmt.Sprint("log/", r.logged-maxLogs))
}

// End records a pass that did anything.
func (r *recorder) End(ctx context.Context, err error) {
	p := passOf(ctx)
	p.DurationMillis = float64(time.Since(p.Time).Microseconds()) / 1000
	if !errors.Is(err, controller.ErrLater) {
		p.Error = textOf(err)
	}
	r.ended(p.Parent.UID, p.Error)
	if len(p.Calls) == 0 && len(p.writes) == 0 && p.Error == "" {
		return
	}
	p.pass.Writes = []write{}
	for _, w := range p.writes {
		p.pass.Writes = append(p.pass.Writes, writeOf(w))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	p.ID = r.last
	r.passes[p.ID] = p
	delete(r.passes, p.ID-maxPasses)
	r.stream.put(fmt.Sprint("pass/", p.ID), "pass", &p.pass)
	r.stream.drop(fmt.Sprint("pass/", p.ID-maxPasses))
}

// pass returns a pass, or nil if it is not kept.
func (r *recorder) pass(id int64) *passDetails {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.passes[id]
	if p != nil && p.Writes == nil {
		p.Writes = wholeWrites(p.writes)
	}
	return p
}

// wrote records a write of a pass.
func (r *recorder) wrote(ctx context.Context, w memcluster.Write) {
	if p := passOf(ctx); p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.writes = append(p.writes, w)
	}
}

// writeOf returns what is shown of a write in a list.
func writeOf(w memcluster.Write) write {
	return write{Verb: string(w.Verb), Kind: w.Kind.Kind, Namespace: w.Namespace, Name: w.Name, Error: textOf(w.Err)}
}

// wholeWrites returns all that is shown of writes.
func wholeWrites(writes []memcluster.Write) []write {
	all := []write{}
	for _, w := range writes {
		shown := writeOf(w)
		shown.Before, shown.After = contentOf(w.Before), contentOf(w.After)
		all = append(all, shown)
	}
	return all
}

// contentOf returns what is shown of a stored object, or nil if there is none.
func contentOf(object *unstructured.Unstructured) map[string]any {
	if object == nil {
		return nil
	}
	object = object.DeepCopy()
	object.SetManagedFields(nil)
	return object.Object
}

// textOf returns the message of an error, or an empty text.
func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
