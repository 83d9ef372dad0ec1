package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParseHelp(t *testing.T) {
	known := parseHelp(`Usage:
  vtgate [flags]

Flags:
      --cell string              cell to use (required)
      --enable-balancer          (DEPRECATED: use --vtgate-balancer-mode instead) Enable it
      --buffer-window duration   How long. The deprecated flag --window did the same.
  -h, --help                     help for vtgate

Member:
  --name 'default'
    Human-readable name for this member.
  --old-name ''
    Deprecated: write --name.
`)
	for name, want := range map[string]struct{ found, deprecated bool }{
		"cell":            {true, false},
		"enable-balancer": {true, true},
		"buffer-window":   {true, false}, // It only speaks of another one.
		"help":            {true, false}, // It has a short form.
		"name":            {true, false}, // etcd writes the description below.
		"old-name":        {true, true},
		"window":          {false, false},
	} {
		got, found := known[name]
		if found != want.found || got.deprecated != want.deprecated {
			t.Errorf("--%s: found %v and deprecated %v, want %v", name, found, got.deprecated, want)
		}
	}
}

// program writes a program that knows a flag, as those of Vitess do, and takes the other spelling of it in silence.
const program = `#!/bin/sh
for arg in "$@"; do
    case $arg in
    --cell=* | --old=* | --the_cell=* | --help) ;;
    *) echo "Error: unknown flag: $arg" >&2; exit 1 ;;
    esac
done
printf '%s\n' 'Flags:' '      --cell string   the cell' '      --old string    (DEPRECATED) was the cell'
`

func TestProblemOf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	writeProgram(t, path, program)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"Known":          {[]string{"--cell=zone1"}, ""},
		"Unknown":        {[]string{"--cells=zone1"}, "unknown flag: --cells=zone1"},
		"OtherSpelling":  {[]string{"--the_cell=zone1"}, "--the_cell is not in its help"},
		"Deprecated":     {[]string{"--cell=zone1", "--old=zone1"}, "--old is deprecated"},
		"NoFlagsAtAll":   {nil, ""},
		"OnlyTheDashes":  {[]string{"--cell=--"}, ""},
		"FirstOfSeveral": {[]string{"--x=1", "--y=2"}, "--x=1"},
	} {
		t.Run(name, func(t *testing.T) {
			got := problemOf(t.Context(), path, c.args)
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// manifests are an etcd with two members, and a Job that talks to it.
const manifests = `[
{"kind": "StatefulSet", "metadata": {"name": "x-etcd", "namespace": "demo"}, "spec": {"replicas": 2, "template": {
  "metadata": {"labels": {"app": "etcd", "version": "1"}},
  "spec": {"containers": [{"name": "etcd", "command": ["etcd"],
    "args": ["--name=$(POD_NAME)", "--data-dir=/var/lib/etcd/data", "--listen-client-urls=http://0.0.0.0:2379",
      "--initial-cluster=x-etcd-0=http://x-etcd-0.x-etcd-peers.demo.svc:2380,x-etcd-1=http://x-etcd-1.x-etcd-peers.demo.svc:2380"],
    "env": [{"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    "ports": [{"name": "client", "containerPort": 2379}],
    "volumeMounts": [{"name": "data", "mountPath": "/var/lib/etcd"}]}]}}}},
{"kind": "Service", "metadata": {"name": "x-etcd", "namespace": "demo"},
  "spec": {"selector": {"app": "etcd"}, "ports": [{"name": "client", "port": 80, "targetPort": "client"}]}},
{"kind": "Job", "metadata": {"name": "x-register", "namespace": "demo"}, "spec": {"template": {"spec": {
  "initContainers": [{"name": "first", "command": ["vtctldclient", "First"]}],
  "containers": [{"name": "step", "command": ["vtctldclient"],
    "args": ["--server-address=x-etcd.demo.svc:80", "--port=15000", "zone1"]}]}}}}
]`

func testTree(t *testing.T) *tree {
	t.Helper()
	var objects []object
	if err := json.Unmarshal([]byte(manifests), &objects); err != nil {
		t.Fatal(err)
	}
	return &tree{objects: objects}
}

func TestArguments(t *testing.T) {
	p := &places{tree: testTree(t), directory: t.TempDir(), ports: map[string]int{
		"x-etcd-0:2379": 1, "x-etcd-1:2379": 2, "x-etcd-0:2380": 3, "x-etcd-1:2380": 4, "x-register-0:15000": 5,
	}}
	for pod, want := range map[string][]string{
		"x-etcd-1": {"--name=x-etcd-1", "--data-dir=" + filepath.Join(p.directory, "x-etcd-1", "data", "data"),
			"--listen-client-urls=http://127.0.0.1:2",
			"--initial-cluster=x-etcd-0=http://127.0.0.1:3,x-etcd-1=http://127.0.0.1:4"},
		"x-register-0": {"--server-address=127.0.0.1:1", "--port=5", "zone1"}, // By the Service, to the first member.
	} {
		owner := p.tree.objects[0]
		if strings.HasPrefix(pod, "x-register") {
			owner = p.tree.objects[2]
		}
		got, err := p.args(pod, mainOf(owner))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q (%v), want %q", pod, got, err, want)
		}
	}
}

func TestUnknownAddress(t *testing.T) {
	p := &places{tree: testTree(t), directory: t.TempDir(), ports: map[string]int{}}
	for arg, want := range map[string]string{
		"--a=y.demo.svc:80":       "no Service y in namespace demo",
		"--a=x-etcd.other.svc:80": "no Service x-etcd in namespace other",
		"--a=x-etcd.demo.svc:81":  "no port 81",
		"--a=$(UID)":              "$(UID) is no variable",
	} {
		if _, err := p.args("pod", invocation{args: []string{arg}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want one that contains %q", arg, err, want)
		}
	}
}

func TestInvocations(t *testing.T) {
	var got []string
	for _, i := range invocationsOf(testTree(t).objects[2]) {
		got = append(got, i.where+": "+i.program+" "+strings.Join(i.args, " "))
	}
	want := []string{"first: vtctldclient First", "step: vtctldclient --server-address=x-etcd.demo.svc:80 --port=15000 zone1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func writeProgram(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}
