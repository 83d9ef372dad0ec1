package dev

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

const (
	// maxPasses is how many passes are kept, and maxLogs how many lines of hooks.
	maxPasses, maxLogs = 500, 500
	// maxBody is how much of a response is read.
	maxBody = 32 << 20
)

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
		Calls  []call     `json:"calls"`
		Writes []write    `json:"writes"`
		mu     sync.Mutex // Calls and writes are concurrent.
		began  time.Time
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
	now := time.Now()
	return context.WithValue(ctx, passKey{}, &passDetails{began: now, pass: pass{
		Time: now, Definition: definition, Hooks: []string{}, Parent: reference{
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
	p.DurationMillis = float64(time.Since(p.began).Microseconds()) / 1000
	if !errors.Is(err, controller.ErrLater) {
		p.Error = textOf(err)
	}
	r.ended(p.Parent.UID, p.Error)
	if len(p.Calls) == 0 && len(p.Writes) == 0 && p.Error == "" {
		return
	}
	p.pass.Writes = []write{}
	for _, w := range p.Writes {
		w.Before, w.After = nil, nil
		p.pass.Writes = append(p.pass.Writes, w)
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
	return r.passes[id]
}

// wrap returns a transport that records the writes of passes.
func (r *recorder) wrap(next http.RoundTripper) http.RoundTripper { return transport{next} }

type transport struct{ next http.RoundTripper }

// RoundTrip sends a request. If it is a write of a pass, the object is read before and after.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	p := passOf(request.Context())
	path, isStatus := strings.CutSuffix(request.URL.Path, "/status")
	if p == nil || request.Method == http.MethodGet || request.URL.Query().Has("dryRun") || !isWritten(path) {
		return t.next.RoundTrip(request)
	}
	w := write{Verb: verbOf(request, isStatus)}
	if request.Method != http.MethodPost {
		w.Before = t.get(request, path)
	}
	sent := sentBy(request)
	response, err := t.next.RoundTrip(request)
	answer := map[string]any{}
	if err == nil {
		var body []byte
		body, err = io.ReadAll(io.LimitReader(response.Body, maxBody))
		response.Body.Close()
		response.Body = io.NopCloser(bytes.NewReader(body))
		_ = json.Unmarshal(body, &answer)
	}
	switch {
	case err != nil:
		w.Error = err.Error()
	case response.StatusCode >= http.StatusBadRequest:
		w.Error, _, _ = unstructured.NestedString(answer, "message")
		w.Error = cmp.Or(w.Error, response.Status)
		w.After = w.Before
	default:
		if request.Method == http.MethodPost {
			path += "/" + (&unstructured.Unstructured{Object: answer}).GetName()
		}
		w.After = t.get(request, path)
	}
	about := &unstructured.Unstructured{Object: firstOf(w.After, w.Before, sent)}
	w.Kind, w.Namespace, w.Name = about.GetKind(), about.GetNamespace(), about.GetName()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Writes = append(p.Writes, w)
	return response, err
}

// isWritten reports whether a path is that of objects that a pass is about: not of questions, tokens and events.
func isWritten(path string) bool {
	return !strings.HasPrefix(path, "/apis/authorization.k8s.io/") && !strings.HasSuffix(path, "/token") && !strings.HasSuffix(path, "/events")
}

// verbOf returns what a write is called.
func verbOf(request *http.Request, isStatus bool) string {
	verb := map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodDelete: "delete"}[request.Method]
	if verb == "" {
		verb = "patch"
		if strings.HasPrefix(request.Header.Get("Content-Type"), string(types.ApplyPatchType)) {
			verb = "apply"
		}
	}
	if isStatus {
		verb += " status"
	}
	return verb
}

// sentBy returns the object that a request sends, as far as it is one.
func sentBy(request *http.Request) map[string]any {
	sent := map[string]any{}
	if request.GetBody != nil {
		if body, err := request.GetBody(); err == nil {
			_ = json.NewDecoder(body).Decode(&sent)
		}
	}
	return sent
}

// get reads an object as whoever sends a request, or returns nil.
func (t transport) get(as *http.Request, path string) map[string]any {
	request := as.Clone(as.Context())
	request.Method, request.Body, request.GetBody, request.ContentLength = http.MethodGet, nil, nil, 0
	request.URL.Path, request.URL.RawQuery = path, ""
	request.Header.Del("Content-Type")
	request.Header.Set("Accept", "application/json")
	response, err := t.next.RoundTrip(request)
	if err != nil {
		return nil
	}
	defer response.Body.Close()
	object := map[string]any{}
	if response.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(response.Body, maxBody)).Decode(&object) != nil {
		return nil
	}
	unstructured.RemoveNestedField(object, "metadata", "managedFields")
	return object
}

func firstOf(objects ...map[string]any) map[string]any {
	for _, object := range objects {
		if len(object) > 0 {
			return object
		}
	}
	return map[string]any{}
}

// textOf returns the message of an error, or an empty text.
func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
