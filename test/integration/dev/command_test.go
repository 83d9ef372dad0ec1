// Package dev runs libretto dev.
package dev

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// timeout limits the wait for anything.
const timeout = 20 * time.Second

// session is a running libretto dev, and what its stream has said last.
type session struct {
	*testing.T
	folder, address, kubeconfig string
	printed                     *output

	mu       sync.Mutex
	objects  map[string]shown // By kind and name.
	passes   []pass
	edit     edit
	tests    tests
	problems []string
	files    int
	synced   bool
}

// The messages of the stream, as far as they are compared.
type (
	shown struct {
		Event, Role, State, Message, Owner, Definition string
		Object                                         struct {
			Kind     string
			Metadata struct{ Namespace, Name string }
		}
	}
	pass struct {
		ID         int64
		Definition string
		Parent     struct{ Kind, Name string }
		Hooks      []string
		Writes     []struct{ Verb, Kind, Name, Error string }
		Error      string
	}
	edit struct {
		Definition, Revision, Reason, Message string
		Held                                  bool
		Commands                              []string
	}
	tests struct {
		Running  bool
		Cases    []testCase
		Coverage map[string]map[string]string
	}
	testCase struct {
		File, Name, Failure string
		Passed              bool
	}
)

// start starts libretto dev on a copy of a folder.
func start(t *testing.T, example string, flags ...string) *session {
	t.Helper()
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if example != "" {
		if err := os.CopyFS(folder, os.DirFS(filepath.Join(root, "examples", example))); err != nil {
			t.Fatal(err)
		}
	}
	s := startArgs(t, append(append([]string{"dev"}, flags...), folder))
	s.folder = folder
	return s
}

// startArgs starts libretto dev with arguments and variables of the environment, and follows its stream. It is ended by the end of the test,
// which it must do well.
func startArgs(t *testing.T, args []string, environ ...string) *session {
	t.Helper()
	out := &output{}
	s := &session{T: t, printed: out, objects: map[string]shown{}}
	binary, err := cluster.Binary("libretto")
	if err != nil {
		t.Fatal(err)
	}
	isLive := slices.ContainsFunc(args, func(arg string) bool {
		return arg == "--live" || strings.HasPrefix(arg, "--kubeconfig")
	})
	command := exec.Command(binary, append(args, "--port=8101")...)
	command.Env = append(append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir()), environ...)
	command.Stdout, command.Stderr = out, out
	program, err := cluster.StartProgram(command)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := program.Stop(); err != nil {
			t.Errorf("it did not end well: %v", err)
		}
		if t.Failed() {
			t.Logf("libretto dev printed:\n%s", out)
		}
	})
	said := regexp.MustCompile(`(http://localhost:\d+)/ .*\n(?:export KUBECONFIG=(\S+)\n)?`)
	cluster.Eventually(t, timeout, func() error {
		found := said.FindStringSubmatch(out.String())
		if found == nil || found[2] == "" && !isLive {
			return fmt.Errorf("it does not say where the page is, and the cluster: %s", out)
		}
		s.address, s.kubeconfig = found[1], found[2]
		return nil
	})
	go s.follow(t.Context())
	return s
}

// output is what a process prints.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(text)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// follow notes what the stream says, until ctx ends.
func (s *session) follow(ctx context.Context) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.address+"/dev/v1/stream", nil)
	if err != nil {
		s.Error(err)
		return
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return // The test has ended, or meets that elsewhere.
	}
	defer response.Body.Close()
	for lines := bufio.NewReader(response.Body); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		s.note(line)
	}
}

func (s *session) note(line []byte) {
	var m struct {
		Object   *shown
		Pass     *pass
		Edit     *edit
		Tests    *tests
		Problems *[]string
		Files    []any
		Synced   bool
	}
	if err := json.Unmarshal(line, &m); err != nil {
		s.Errorf("%v: %s", err, line)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case m.Object != nil:
		s.objects[m.Object.Object.Kind+" "+m.Object.Object.Metadata.Name] = *m.Object
	case m.Pass != nil:
		s.passes = append(s.passes, *m.Pass)
	case m.Edit != nil:
		s.edit = *m.Edit
	case m.Tests != nil:
		s.tests = *m.Tests
	case m.Problems != nil:
		s.problems = *m.Problems
	case m.Files != nil:
		s.files = len(m.Files)
	case m.Synced:
		s.synced = true
	}
}

// eventually waits until check, which may read what the stream has said, returns nothing.
func (s *session) eventually(what string, check func() bool) {
	s.Helper()
	cluster.Eventually(s.T, timeout, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if check() {
			return nil
		}
		return fmt.Errorf("%s: objects %+v, edit %+v, problems %q, tests %+v, files %d", what, s.objects, s.edit, s.problems, s.tests, s.files)
	})
}

// is reports whether an object was last seen in a role and a state.
func (s *session) is(name, role, state string) bool {
	o := s.objects[name]
	return o.Event != "DELETED" && o.Role == role && o.State == state
}

// run runs a program on the cluster, and returns what it prints.
func (s *session) run(program, input string, args ...string) string {
	s.Helper()
	binary, err := cluster.Binary(program)
	if err != nil {
		s.Fatal(err)
	}
	command := exec.CommandContext(s.Context(), binary, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+s.kubeconfig)
	command.Stdin = strings.NewReader(input)
	out, err := command.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		s.Fatalf("%s %q: %s", program, args, failed.Stderr)
	}
	return string(out)
}

// edits replaces a part of a file of the folder.
func (s *session) edits(name, from, to string) {
	s.Helper()
	path := filepath.Join(s.folder, name)
	text, err := os.ReadFile(path)
	if err != nil {
		s.Fatal(err)
	}
	edited := strings.Replace(string(text), from, to, 1)
	if edited == string(text) {
		s.Fatalf("%s has no %q", name, from)
	}
	if err := os.WriteFile(path, []byte(edited), 0o600); err != nil {
		s.Fatal(err)
	}
}

const greeting = "{apiVersion: ctl.example.com/v1, kind: Greeting, metadata: {name: moon}, spec: {who: moon}}"

// TestHello follows a script from its first parents over an edit that is held to one that does not load.
func TestHello(t *testing.T) {
	t.Parallel()
	s := start(t, "hello", "--edit")
	s.eventually("the example is applied", func() bool {
		return s.is("CompositeController hello", "definition", "ready") && s.is("Greeting world", "parent", "ready") &&
			s.is("ConfigMap world-greeting", "child", "ready") && s.synced
	})
	s.eventually("the tests pass", func() bool {
		return !s.tests.Running && len(s.tests.Cases) == 5 && s.tests.Cases[0].Passed && s.tests.Coverage["hello.yaml"]["29"] == "covered"
	})
	s.run("kubectl", greeting, "apply", "-f", "-")
	s.eventually("kubectl makes a parent", func() bool {
		return s.objects["ConfigMap moon-greeting"].Definition == "CompositeController hello" && s.edit.Reason == "Complete"
	})
	s.checkPass()
	const children = "children: [{"
	s.edits("hello.yaml", children, "children: parent.spec.who ? [] : [{")
	s.eventually("the edit is held", func() bool {
		return s.edit.Held && slices.Contains(s.edit.Commands, "libretto rollout approve compositecontroller/hello")
	})
	s.eventually("the tests fail", func() bool { return !s.tests.Running && len(s.tests.Cases) == 5 && !s.tests.Cases[0].Passed })
	if got := s.run("kubectl", "", "get", "configmaps", "-o", "name"); !strings.Contains(got, "moon-greeting") {
		t.Errorf("the ConfigMaps are %s", got)
	}
	s.run("libretto", "", "rollout", "approve", "cc/hello")
	s.eventually("it takes over", func() bool { return !s.edit.Held && s.objects["ConfigMap moon-greeting"].Event == "DELETED" })
	s.edits("hello.yaml", "const text", "const const")
	s.eventually("the script does not load", func() bool {
		return len(s.problems) == 1 && strings.HasPrefix(s.problems[0], "hello.yaml:29:13: ") && s.is("CompositeController hello", "definition", "failing")
	})
	s.put("hello.yaml", func(text string) string {
		return strings.NewReplacer("const const", "const text", "children: parent.spec.who ? [] : [{", children).Replace(text)
	})
	s.eventually("it is mended", func() bool { return len(s.problems) == 0 && s.is("ConfigMap moon-greeting", "child", "ready") })
	if err := os.Remove(filepath.Join(s.folder, "greeting.yaml")); err != nil {
		t.Fatal(err)
	}
	s.eventually("what the folder has no more is deleted", func() bool { return s.objects["Greeting world"].Event == "DELETED" })
	s.edits("hello.yaml", "spec.who}", "spec.whom}")
	const finding = "hello.yaml:29:42: error: parent.spec.whom: there is no such field: did you mean who? [SchemaMismatch]"
	s.eventually("check finds a field", func() bool { return slices.Equal(s.problems, []string{finding}) })
	for _, said := range []string{`"problems": "` + s.folder + `/hello.yaml:29:13: `, s.folder + "/" + finding} {
		if n := strings.Count(s.printed.String(), said); n != 1 {
			t.Errorf("%s is said %d times in the terminal, want once", said, n)
		}
	}
}

// checkPass compares the pass that has created a ConfigMap.
func (s *session) checkPass() {
	s.Helper()
	id := int64(0)
	s.eventually("a pass", func() bool {
		for _, p := range s.passes {
			if len(p.Writes) > 0 && p.Writes[0].Name == "moon-greeting" {
				id = p.ID
			}
		}
		return id != 0
	})
	response, err := http.Get(fmt.Sprintf("%s/dev/v1/passes/%d", s.address, id))
	if err != nil {
		s.Fatal(err)
	}
	defer response.Body.Close()
	var got struct {
		pass
		Calls []struct {
			Hook              string
			Request, Response map[string]any
			Reads             []string
		}
		Writes []struct {
			Verb          string
			Before, After map[string]any
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&got); err != nil {
		s.Fatal(err)
	}
	if len(got.Calls) != 1 || len(got.Writes) != 1 {
		s.Fatalf("%+v", got)
	}
	call, write := got.Calls[0], got.Writes[0]
	if call.Hook != "sync" || call.Request["parent"] == nil || call.Response["children"] == nil || !slices.Contains(call.Reads, "parent.spec") {
		s.Errorf("the call: %+v", call)
	}
	if write.Verb != "create" || write.Before != nil || write.After["kind"] != "ConfigMap" {
		s.Errorf("the write: %+v", write)
	}
}

// put edits a file as the page does.
func (s *session) put(name string, edit func(string) string) {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(s.folder, name))
	if err != nil {
		s.Fatal(err)
	}
	request, err := http.NewRequestWithContext(s.Context(), http.MethodPut, s.address+"/dev/v1/files/"+name, strings.NewReader(edit(string(text))))
	if err != nil {
		s.Fatal(err)
	}
	s.send(request)
}

func (s *session) send(request *http.Request) {
	s.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		s.Errorf("%s %s: %s", request.Method, request.URL, response.Status)
	}
}

// TestKindTakenOut takes a kind of children out of the definition: the terminal says what is left of it.
func TestKindTakenOut(t *testing.T) {
	t.Parallel()
	s := start(t, "hello", "--no-tests")
	s.eventually("the example is applied", func() bool { return s.is("ConfigMap world-greeting", "child", "ready") })
	s.edits("hello.yaml", "resource: configmaps", "resource: secrets")
	s.edits("hello.yaml", "children: [{", "children: parent.spec.who ? [] : [{")
	const want = "took configmaps out of childResources while it looked after 1 of them, such as ConfigMap default/world-greeting: "
	s.eventually("it says what is left", func() bool { return strings.Contains(s.printed.String(), want) })
	if got := s.run("kubectl", "", "get", "configmaps", "-o", "name"); !strings.Contains(got, "world-greeting") {
		t.Errorf("the ConfigMaps are %s", got)
	}
}

// TestLogs reads by kubectl what hooks log.
func TestLogs(t *testing.T) {
	t.Parallel()
	s := start(t, "hello", "--no-tests")
	s.eventually("the example is applied", func() bool { return s.is("ConfigMap world-greeting", "child", "ready") })
	s.edits("hello.yaml", "const text", `console.log("for", parent.spec.who); const text`)
	s.run("kubectl", greeting, "apply", "-f", "-")
	s.eventually("it greets", func() bool { return s.is("ConfigMap moon-greeting", "child", "ready") })
	const want = "CompositeController hello: sync: default/moon: for moon\n"
	logs := func(args ...string) string {
		return s.run("kubectl", "", append([]string{"-n", "libretto", "logs"}, args...)...)
	}
	if got := logs("deploy/libretto"); !strings.Contains(got, want) {
		t.Errorf("it has logged %q, without %q", got, want)
	}
	for _, example := range []struct {
		want string
		args []string
	}{
		{`^\S+Z CompositeController hello: sync: default/\w+: for \w+\n$`, []string{"libretto", "--tail=1", "--timestamps"}},
		{`^$`, []string{"libretto", "--since-time=2100-01-01T00:00:00Z"}},
	} {
		if got := logs(example.args...); !regexp.MustCompile(example.want).MatchString(got) {
			t.Errorf("logs %q has %q, want %s", example.args, got, example.want)
		}
	}
	s.checkFollowed()
	response, err := http.Get(s.address + "/api/v1/namespaces/default/pods/other/log")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "logs deploy/libretto") {
		t.Errorf("the log of another Pod is %s: %s", response.Status, text)
	}
}

// inline is a definition with its script, which is archived in the namespace of the host.
const inline = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: marks}
spec:
  resources: [{apiVersion: v1, resource: configmaps, labelSelector: {matchLabels: {mark: "yes"}}}]
  hooks: {sync: {version: v2, script: {engine: JavaScript, inline: "export const sync = () => ({labels: {marked: 'yes'}})"}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: plain, labels: {mark: "yes"}}}
`

// TestHostNamespace finds the archive of a script that is in no namespace of its own where commands look for it.
func TestHostNamespace(t *testing.T) {
	t.Parallel()
	s := start(t, "", "--no-tests")
	if err := os.WriteFile(filepath.Join(s.folder, "marks.yaml"), []byte(inline), 0o600); err != nil {
		t.Fatal(err)
	}
	s.eventually("it is hosted", func() bool { return s.is("DecoratorController marks", "definition", "ready") })
	cluster.Eventually(t, timeout, func() error {
		if out := s.run("libretto", "", "history", "decoratorcontroller/marks"); !strings.Contains(out, "serves\n") {
			return fmt.Errorf("the history is %s", out)
		}
		return nil
	})
	if out := s.run("kubectl", "", "-n", "default", "get", "configmaps", "-o", "name"); out != "configmap/plain\n" {
		t.Errorf("the namespace of the author has %s", out)
	}
}

// checkFollowed follows the log until it has what is logged meanwhile.
func (s *session) checkFollowed() {
	s.Helper()
	response, err := http.Get(s.address + "/api/v1/namespaces/libretto/pods/libretto/log?follow=true&tailLines=0")
	if err != nil {
		s.Fatal(err)
	}
	defer response.Body.Close()
	s.run("kubectl", "", "patch", "greeting", "moon", "--type=merge", "-p", `{"spec": {"who": "sun"}}`)
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if lines.Text() == "CompositeController hello: sync: default/moon: for sun" {
			return
		}
	}
	s.Error("the log ends without what was logged while it was followed")
}

// TestCatset follows a set whose Pods come one after another, of a folder with a kustomization.
func TestCatset(t *testing.T) {
	t.Parallel()
	s := start(t, "catset", "--no-tests")
	s.eventually("the definition is ready", func() bool { return s.is("CompositeController catset-controller", "definition", "ready") })
	s.run("kubectl", "", "apply", "-f", filepath.Join(s.folder, "catset.yaml"))
	s.eventually("all Pods are ready", func() bool {
		return s.is("Pod nginx-2", "child", "ready") && s.is("CatSet nginx", "parent", "ready")
	})
	for _, step := range []struct{ ready, state string }{{"false", "failing"}, {"null", "ready"}, {"false", "failing"}} {
		s.setReady("nginx-1", step.ready)
		s.eventually("a Pod is "+step.state, func() bool { return s.is("Pod nginx-1", "child", step.state) })
	}
	s.run("kubectl", "", "delete", "pod", "nginx-1", "-n", "demo")
	s.eventually("the next one of its name is another one", func() bool { return s.is("Pod nginx-1", "child", "ready") })
}

// setReady has a Pod of the namespace demo become ready, or not, or as usual.
func (s *session) setReady(pod, ready string) {
	s.Helper()
	body := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "namespace": "demo", "name": %q, "ready": %s}`, pod, ready)
	request, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.address+"/dev/v1/ready", strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	s.send(request)
}

// TestEmpty starts in an empty folder, and puts files into it.
func TestEmpty(t *testing.T) {
	t.Parallel()
	s := start(t, "")
	s.eventually("it says what to do", func() bool { return len(s.problems) == 1 && strings.Contains(s.problems[0], "libretto init") })
	s.run("libretto", "", "init", "composite", "webapp", "--dir", s.folder, "--lang", "js")
	s.eventually("it is hosted", func() bool {
		return s.is("CompositeController webapp", "definition", "ready") && len(s.problems) == 0 && len(s.tests.Cases) > 0 && !s.tests.Running
	})
}

// TestReadme does what the README says of a first controller: the new one gets a child of its own, and its tests still pass.
func TestReadme(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(root + "README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## A first controller\n")
	lineWith := func(part string) string {
		found := regexp.MustCompile(`(?m)^ +(.*` + regexp.QuoteMeta(part) + `.*)$`).FindStringSubmatch(section)
		if found == nil {
			t.Fatalf("the README has no line with %s", part)
		}
		return found[1]
	}
	s := start(t, "")
	fields := strings.Fields(strings.Split(lineWith("libretto init"), "#")[0])
	s.run(fields[0], "", append(fields[1:], "--dir", s.folder)...)
	s.eventually("it is hosted", func() bool { return s.is("CompositeController team", "definition", "ready") })
	s.run("kubectl", "", "apply", "-f", filepath.Join(s.folder, "example.yaml"))
	s.eventually("the example has its children", func() bool { return s.is("Deployment example", "child", "ready") })
	s.edits("definition.yaml", "  childResources:\n", "  childResources:\n  "+lineWith("resource: configmaps")+"\n")
	s.edits("sync.js", "    children: [\n", "    children: [\n"+lineWith(`kind: "ConfigMap"`)+"\n")
	s.eventually("it has another one", func() bool { return s.is("ConfigMap example", "child", "ready") })
	s.eventually("the tests pass", func() bool {
		failed := slices.IndexFunc(s.tests.Cases, func(c testCase) bool { return !c.Passed })
		return !s.tests.Running && len(s.tests.Cases) > 0 && failed < 0
	})
}

// TestLive shows a cluster whose host is another process, and tries to write to it.
func TestLive(t *testing.T) {
	t.Parallel()
	c, example := inMemory(t), root+"examples/hello/"
	moon := filepath.Join(t.TempDir(), "moon.yaml")
	if err := errors.Join(os.WriteFile(moon, []byte(greeting), 0o600), c.Install(t.Context())); err != nil {
		t.Fatal(err)
	}
	if err := c.ApplyFiles(t.Context(), example+"hello.yaml", example+"greeting.yaml", moon); err != nil {
		t.Fatal(err)
	}
	host, err := c.StartLibretto(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := host.Stop(); err != nil {
			t.Error(err)
		}
	})
	s := start(t, "", "--kubeconfig="+c.Kubeconfig)
	s.eventually("parents and children are shown", func() bool {
		return s.is("Greeting world", "parent", "ready") && s.is("ConfigMap moon-greeting", "child", "ready") && s.edit.Reason == "Complete"
	})
	s.kubeconfig = c.Kubeconfig
	s.run("kubectl", "", "patch", "configmap", "hello-hooks", "-p", `{"data": {"sync.js": "export const sync = () => ({children: []})"}}`)
	s.eventually("the edit is held", func() bool { return s.edit.Held && len(s.edit.Commands) == 1 })
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, o := range s.objects {
		if o.Role != "definition" && o.Role != "parent" && o.Role != "child" {
			t.Errorf("%s is shown as %s", name, o.Role)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, s.address+"/api/v1/namespaces/default/configmaps/moon-greeting", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusForbidden {
		t.Errorf("a deletion is answered by %s", response.Status)
	}
}
