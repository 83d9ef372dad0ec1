package controllertest

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const goldenCase = `
apiVersion: libretto.dev/v1alpha1
kind: ControllerTest
given:
- {apiVersion: example.com/v1, kind: WebApp, metadata: {name: shop}, spec: {replicas: 1}}
cases:
- name: all
  golden: all.yaml
  steps:
  - {step: begins, passes: 1}
  - {}
  - {apply: [{kind: WebApp, metadata: {name: shop}, spec: {replicas: -1}}], fails: negative}
`

const goldenText = `- step: 1
  name: begins
  passes:
  - pass: WebApp/default/shop
    writes:
    - create: Pod/default/shop-0
      with:
        metadata:
          labels:
            controller-uid: webapp.default.shop
          ownerReferences:
          - controller WebApp shop webapp.default.shop
        spec:
          containers:
          - image: web
            name: web
`

// TestGolden checks that a golden file is written, that what happens is equal to it, and that a part of a text is kept.
func TestGolden(t *testing.T) {
	a, registry := openArchive(t, "testdata/basics.txtar"), newRegistry(t)
	golden := ""
	known := ""
	run := func(write bool) Result {
		t.Helper()
		s := a.subject(t, registry)
		s.ReadFile = func(name string) ([]byte, error) {
			if name != "all.yaml" || golden == "" {
				return nil, fs.ErrNotExist
			}
			return []byte(golden), nil
		}
		if write {
			s.WriteFile = func(_ string, text []byte) error { golden = string(text); return nil }
		}
		f, problems := Parse("x_test.yaml", []byte(goldenCase))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		f.Tests[0].Cases[0].KnownFailure = known
		return RunCase(t.Context(), registry, f.Tests[0], &f.Tests[0].Cases[0], s)
	}
	if r := run(false); r.Outcome != Failed || !strings.Contains(r.Failures[0].Message, "--update") {
		t.Errorf("without a file: %v %v", r.Outcome, r.Failures)
	}
	if r := run(true); r.Outcome != Passed || !strings.HasPrefix(golden, goldenText) {
		t.Errorf("written (%v %v):\n%s", r.Outcome, r.Failures, cmp.Diff(goldenText, golden))
	}
	if r := run(false); r.Outcome != Passed {
		t.Errorf("what was written: %v %v", r.Outcome, r.Failures)
	}
	short := `error: "must not be negative"`
	for line := range strings.Lines(golden) {
		if strings.HasPrefix(line, "    error:") {
			golden = strings.Replace(golden, line, "    "+short+"\n", 1)
		}
	}
	if r := run(false); r.Outcome != Passed || !strings.Contains(golden, short) {
		t.Errorf("a part of the error: %v %v\n%s", r.Outcome, r.Failures, golden)
	}
	if r := run(true); r.Outcome != Passed || !strings.Contains(golden, strings.ReplaceAll(short, `"`, "")) {
		t.Errorf("the part is not kept: %v %v\n%s", r.Outcome, r.Failures, golden)
	}
	golden = strings.Replace(golden, "image: web", "image: other", 1)
	r := run(false)
	if r.Outcome != Failed || !cmp.Equal(r.Failures[0].Diff[4:6], []string{"-           - image: other", "+           - image: web"}) {
		t.Errorf("another image: %v %+v", r.Outcome, r.Failures)
	}
	wrong := golden
	known = "it is another image"
	if r := run(true); r.Outcome != Skipped || golden != wrong {
		t.Errorf("a known failure is recorded as what is wanted: %v %v\n%s", r.Outcome, r.Failures, golden)
	}
	known, golden = "", "a: b"
	if r := run(true); r.Outcome != Passed || !strings.HasPrefix(golden, goldenText) {
		t.Errorf("a file that is none is not replaced: %v %v\n%s", r.Outcome, r.Failures, golden)
	}
}

// TestGoldenSecret checks that a golden file shows that a secret has changed, and nothing of its value.
func TestGoldenSecret(t *testing.T) {
	a, registry, golden := openArchive(t, "testdata/checks.txtar"), newRegistry(t), ""
	f, problems := Parse("x_test.yaml", []byte(`
apiVersion: libretto.dev/v1alpha1
kind: ControllerTest
given:
- {apiVersion: example.com/v1, kind: WebApp, metadata: {name: shop}, spec: {mode: secret}}
cases:
- name: somebody else writes into the Secret
  golden: all.yaml
  steps:
  - {}
  - {apply: [{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {password: b3RoZXI=}}]}
`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	s := a.subject(t, registry)
	s.ReadFile = func(string) ([]byte, error) { return nil, fs.ErrNotExist }
	s.WriteFile = func(_ string, text []byte) error { golden = string(text); return nil }
	if r := RunCase(t.Context(), registry, f.Tests[0], &f.Tests[0].Cases[0], s); r.Outcome != Passed {
		t.Fatalf("%v %v", r.Outcome, r.Failures)
	}
	want := `    - update: Secret/default/a
      with:
        stringData:
          password: (hidden)
`
	if strings.Count(golden, want) != 1 || strings.Count(golden, "(hidden)") != 2 {
		t.Errorf("the creation and one update have a secret:\n%s", golden)
	}
	for _, value := range []string{"swordfish", "c3dvcmRmaXNo", "b3RoZXI="} {
		if strings.Contains(golden, value) {
			t.Errorf("%s is in\n%s", value, golden)
		}
	}
}

const snapshotText = `- apiVersion: v1
  data:
    image: web
  kind: ConfigMap
  metadata:
    labels:
      controller-uid: webapp.default.shop
    name: shop
    namespace: default
- apiVersion: v1
  kind: Pod
  metadata:
    labels:
      controller-uid: webapp.default.shop
    name: shop-0
    namespace: default
  spec:
    containers:
    - image: web
      name: web
- apiVersion: example.com/v1
  kind: WebApp
  metadata:
    name: shop
    namespace: default
  status:
    conditions:
    - reason: Counted
      status: "True"
      type: Updated
    observedGeneration: 1
    ready: 1
    replicas: 1
`

// TestSnapshot checks that the files of a step and of a hook are written, and compared.
func TestSnapshot(t *testing.T) {
	a, registry, files := openArchive(t, "testdata/basics.txtar"), newRegistry(t), map[string]string{}
	run := func(write bool) (all []Result) {
		t.Helper()
		s := a.subject(t, registry)
		s.ReadFile = func(name string) ([]byte, error) {
			if text, ok := files[name]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		}
		if write {
			s.WriteFile = func(name string, text []byte) error { files[name] = string(text); return nil }
		}
		f, problems := Parse("x_test.yaml", []byte(`
apiVersion: libretto.dev/v1alpha1
kind: ControllerTest
cases:
- name: a step
  given:
  - {apiVersion: example.com/v1, kind: WebApp, metadata: {name: shop}, spec: {replicas: 1}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: other}}
  want: {snapshot: step.yaml}
- name: a hook
  hook: sync
  request: {parent: {metadata: {name: shop}, spec: {replicas: 0}}, children: {Pod.v1: {}}}
  golden: hook.yaml
`))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		for i := range f.Tests[0].Cases {
			all = append(all, RunCase(t.Context(), registry, f.Tests[0], &f.Tests[0].Cases[i], s))
		}
		return all
	}
	for i, at := range []string{"x_test.yaml:9:20", "x_test.yaml:13:11"} {
		r := run(false)[i]
		if r.Outcome != Failed || r.Failures[0].Location.String() != at || !strings.Contains(r.Failures[0].Message, "yaml does not exist: write it with --update") {
			t.Errorf("without a file: %v %v", r.Outcome, r.Failures)
		}
	}
	want := map[string]string{"step.yaml": snapshotText, "hook.yaml": `children:
- apiVersion: v1
  data:
    image: web
  kind: ConfigMap
  metadata:
    name: shop
resyncAfterSeconds: 300
status:
  conditions:
  - reason: Counted
    status: "True"
    type: Updated
  ready: 0
  replicas: 0
`}
	for range 2 {
		run(true)
		if diff := cmp.Diff(want, files); diff != "" {
			t.Errorf("what is written (-want +got):\n%s", diff)
		}
	}
	for name := range files {
		files[name] = strings.Replace(files[name], "image: web", "image: other", 1)
	}
	for i, message := range []string{"what there is is not as in step.yaml: ", "the response is not as in hook.yaml: "} {
		r := run(false)[i]
		if r.Outcome != Failed || !strings.HasPrefix(r.Failures[0].Message, message) || !strings.Contains(strings.Join(r.Failures[0].Diff, "\n"), "-     image: other\n+     image: web") {
			t.Errorf("another image: %v %+v", r.Outcome, r.Failures)
		}
	}
}

// TestSnapshotSecret checks that a snapshot has no values of Secrets.
func TestSnapshotSecret(t *testing.T) {
	a, registry, snapshot := openArchive(t, "testdata/checks.txtar"), newRegistry(t), ""
	f, problems := Parse("x_test.yaml", []byte(`
apiVersion: libretto.dev/v1alpha1
kind: ControllerTest
given:
- {apiVersion: example.com/v1, kind: WebApp, metadata: {name: shop}, spec: {mode: secret}}
cases:
- {name: makes a Secret, want: {snapshot: all.yaml}}
- {name: alone, hook: sync, request: {parent: {metadata: {name: shop}, spec: {mode: secret}}}, golden: all.yaml}
`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	s := a.subject(t, registry)
	s.ReadFile = func(string) ([]byte, error) { return nil, fs.ErrNotExist }
	s.WriteFile = func(_ string, text []byte) error { snapshot = string(text); return nil }
	for i := range f.Tests[0].Cases {
		if r := RunCase(t.Context(), registry, f.Tests[0], &f.Tests[0].Cases[i], s); r.Outcome != Passed {
			t.Fatalf("%v %v", r.Outcome, r.Failures)
		}
		if !strings.Contains(snapshot, "password: (hidden)") || strings.Contains(snapshot, "swordfish") || strings.Contains(snapshot, "c3dvcmRmaXNo") {
			t.Errorf("%s: the Secret is in\n%s", f.Tests[0].Cases[i].Name, snapshot)
		}
	}
}
