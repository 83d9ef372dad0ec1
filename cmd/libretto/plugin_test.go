package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
)

// TestProgramNames checks what the names of a plug-in stand for.
func TestProgramNames(t *testing.T) {
	for name, c := range map[string]struct{ line, want []string }{
		"plug-in":    {[]string{"/a/kubectl-libretto", "check"}, []string{"check"}},
		"completion": {[]string{"kubectl_complete-libretto", "check", ""}, []string{"__complete", "check", ""}},
		"Windows":    {[]string{"kubectl_complete-libretto.exe"}, []string{"__complete"}},
	} {
		if diff := cmp.Diff(c.want, arguments(c.line)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestArguments(t *testing.T) {
	for _, c := range []struct{ line, want []string }{
		{[]string{"/usr/bin/metacontroller", "--v", "1"}, []string{"serve", "--v", "1"}},
		{[]string{"bin/libretto", "version"}, []string{"version"}},
		{[]string{"libretto"}, []string{}},
	} {
		if diff := cmp.Diff(c.want, arguments(c.line)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.line, diff)
		}
	}
}

// TestPluginUsage checks that what users read names the command that they ran.
func TestPluginUsage(t *testing.T) {
	help := func(isPlugin bool, args ...string) string {
		var out bytes.Buffer
		w := cli.Process{Args: append(args, "--help"), IsPlugin: isPlugin, Getenv: func(string) string { return "" }, Stdout: &out, Stderr: &out}
		if err := cli.NewRoot(w, commands...).ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	text := help(true, "check")
	for _, want := range []string{"\n  kubectl libretto check -f FILE", "\n  kubectl libretto check -f controller/\n", "| kubectl libretto check -f -"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing from\n%s", want, text)
		}
	}
	if text := help(true, "rollout", "status"); !strings.Contains(text, "\n  kubectl libretto rollout status hello\n") {
		t.Errorf("a command below a command:\n%s", text)
	}
	if text := help(true); strings.Contains(text, "completion") || !strings.Contains(text, "kubectl libretto [command]") {
		t.Errorf("completion is up to kubectl:\n%s", text)
	}
	if text := help(false, "check"); strings.Contains(text, "kubectl libretto") {
		t.Errorf("the program alone is no plug-in:\n%s", text)
	}
}

// TestCompletion completes the values of flags and arguments.
func TestCompletion(t *testing.T) {
	for line, want := range map[string]string{
		"ren":                          "render\tShow what a host would do for the parents in files, without a cluster\n:4\n",
		"check -o ":                    "text\njson\ngithub\n:4\n",
		"render --hook ":               "sync\nfinalize\ncustomize\nmap\ntombstone\n:4\n",
		"render --ready ":              "all\nnone\n:4\n",
		"render -f ":                   ":0\n", // files
		"check ":                       ":0\n",
		"init ":                        "composite\ndecorator\nmap\n:4\n",
		"init map --lang ":             "cel\njs\njsonnet\nts\n:4\n",
		"init map ":                    ":4\n",
		"rollout pa":                   "pause\tKeep every parent at its revision of the scripts\n:4\n",
		"rollout pause a --dry-run ":   "none\nclient\nserver\n:4\n",
		"history --kubeconfig none ":   ":4\n", // No cluster can be read.
		"serve --script-isolation ":    "process\nnone\n:4\n",
		"serve --require-confinement ": "all\nseccomp\nany\nnone\n:4\n",
		"version ":                     ":4\n",
	} {
		_, stdout, _ := program.Run(t, "", append([]string{"__complete"}, strings.Split(line, " ")...)...)
		if diff := cmp.Diff(want, stdout); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}

// TestFormatsComplete checks that no command has -o or --output without completion.
func TestFormatsComplete(t *testing.T) {
	for _, c := range cli.AllCommands(cli.NewRoot(cli.Process{Getenv: func(string) string { return "" }}, commands...)) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			complete, found := c.GetFlagCompletionFunc(f.Name)
			if f.Name != "output" {
				return
			}
			if !found {
				t.Errorf("%s: --output has no completion: call completeFlag", c.Name())
			} else if values, _ := complete(c, nil, ""); len(values) == 0 {
				t.Errorf("%s: --output is completed by nothing", c.Name())
			}
		})
	}
}
