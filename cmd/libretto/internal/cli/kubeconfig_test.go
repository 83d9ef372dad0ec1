package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/client-go/rest"
)

func TestClusterConfig(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "") // The test may run in a Pod.
	directory := t.TempDir()
	write := func(name, context, server string) string {
		path := filepath.Join(directory, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		text := `{"apiVersion": "v1", "kind": "Config", "current-context": "` + context + `",
			"contexts": [{"name": "` + server + `-context", "context": {"cluster": "` + server + `"}}],
			"clusters": [{"name": "` + server + `", "cluster": {"server": "https://` + server + `.example"}}]}`
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	home := filepath.Dir(filepath.Dir(write("home/.kube/config", "home-context", "home")))
	own, one, none := write("own", "own-context", "own"), write("one", "one-context", "one"), write("none", "", "none")
	missing := filepath.Join(directory, "missing")
	both := one + string(filepath.ListSeparator) + own
	contexts := map[string]string{"another context": "own-context", "no such context": "other"} // What --context says.
	for name, c := range map[string]struct {
		reason, flag, kubeconfig, home, want, problem string
	}{
		"flag":            {"The flag is asked first.", own, one, home, "https://own.example own-context own", ""},
		"environment":     {"Then the environment.", "", one, home, "https://one.example one-context one", ""},
		"several files":   {"It may have several files, as for kubectl: the first context counts.", "", both, home, "https://one.example one-context one", ""},
		"another context": {"The flag --context chooses one of them.", "", both, home, "https://own.example own-context own", ""},
		"no such context": {"It is not made up.", "", both, home, "", `context "other" does not exist`},
		"home":            {"Then the file of kubectl.", "", "", home, "https://home.example home-context config", ""},
		"no such flag":    {"A file that was asked for has to be there.", missing, "", home, "", "kubeconfig " + missing},
		"nothing at home": {"Without any there has to be a cluster around the process.", "", "", directory, "", "there is none in " + filepath.Join(directory, ".kube", "config")},
		"nothing at all":  {"So it is without a home.", "", "", "", "", "give --kubeconfig"},
		"missing file":    {"The environment may name what is not there.", "", missing, home, "", "there is none in $KUBECONFIG, which is " + missing},
		"no context":      {"A file without current context.", none, "", home, "", "it has no current context: kubectl config use-context NAME: there are none-context"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			environment := map[string]string{"KUBECONFIG": c.kubeconfig, "HOME": c.home}
			config, from, err := loadConfig(c.flag, contexts[name], func(name string) string { return environment[name] })
			if c.problem != "" {
				if err == nil || !strings.Contains(err.Error(), c.problem) {
					t.Errorf("error %v, want one with %q", err, c.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := config.Host + " " + from.Context + " " + filepath.Base(from.File); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// TestImpersonation checks whom commands act as: those of the flags, else whom the kubeconfig says.
func TestImpersonation(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "config")
	text := `{"apiVersion": "v1", "kind": "Config", "current-context": "one", "contexts": [{"name": "one", "context": {"cluster": "one", "user": "one"}}],
		"clusters": [{"name": "one", "cluster": {"server": "https://one.example"}}], "users": [{"name": "one", "user": {"as": "alice", "as-groups": ["staff"]}}]}`
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		reason string
		user   string
		groups []string
		want   rest.ImpersonationConfig
	}{
		"kubeconfig": {"A host may run as a user of its kubeconfig.", "", nil, rest.ImpersonationConfig{UserName: "alice", Groups: []string{"staff"}}},
		"flag":       {"The flags are asked first, with their groups alone.", "bob", nil, rest.ImpersonationConfig{UserName: "bob"}},
		"groups":     {"Both may be given.", "bob", []string{"admins"}, rest.ImpersonationConfig{UserName: "bob", Groups: []string{"admins"}}},
	} {
		t.Run(name, func(t *testing.T) {
			flags := ClusterFlags{kubeconfig: kubeconfig, asUser: c.user, asGroups: c.groups}
			config, _, err := flags.Config(Process{Getenv: func(string) string { return "" }})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, config.Impersonate, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", c.reason, diff)
			}
		})
	}
}
