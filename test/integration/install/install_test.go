// Package install types what a page of the guide shows, and compares what is answered.
package install

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

var update = flag.Bool("update", false, "rewrite what the page shows")

// page is below the root.
var page = filepath.Join("docs", "guide", "install.md")

// timeout limits each command, and startTimeout the start of the API server on a busy machine.
const timeout, startTimeout = time.Minute, 3 * time.Minute

// session types commands as a stranger does: at the root of the project, with every right in the cluster.
type session struct {
	*testing.T
	*cluster.Cluster
	root    string
	environ []string
	version string // Of the program.
	host    *cluster.Libretto
}

// TestInstall types the commands of the page, in its blocks of console, on a new API server, and compares what they print. The host has the
// rights of its ServiceAccount, and no others.
func TestInstall(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	c, err := cluster.Start(ctx, cluster.Options{Dir: t.TempDir()})
	env.NoError(t, err)
	t.Cleanup(func() { env.NoError(t, c.Stop()) })
	root, err := cluster.Root()
	env.NoError(t, err)
	binary, err := cluster.Binary("libretto")
	env.NoError(t, err)
	s := &session{T: t, Cluster: c, root: root, environ: append(os.Environ(),
		"PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"), "KUBECONFIG="+c.Kubeconfig, "KUBECACHEDIR="+t.TempDir())}
	t.Cleanup(s.stop)
	s.version = strings.Fields(s.run("libretto version --client"))[1]
	text, err := os.ReadFile(filepath.Join(root, page))
	env.NoError(t, err)
	got := s.play(string(text))
	c.SkipBefore(t, 34, "all commands ran; kubectl prints what the page has")
	if *update {
		env.NoError(t, os.WriteFile(filepath.Join(root, page), []byte(got), 0o644))
	} else if diff := cmp.Diff(string(text), got); diff != "" {
		t.Errorf("%s is stale: go test ./test/integration/install -update (-want +got):\n%s", page, diff)
	}
}

// play returns the page with what its commands print now.
func (s *session) play(text string) string {
	s.Helper()
	var page strings.Builder
	inConsole := false
	for line := range strings.Lines(text) {
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case inConsole && isCommand:
			page.WriteString(line + s.run(strings.TrimSpace(command)))
			continue
		case inConsole && line != "```\n":
			continue // What it printed before.
		case strings.Contains(line, "<!-- host: start -->"):
			s.start()
		case strings.Contains(line, "<!-- host: stop -->"):
			s.stop()
		}
		inConsole = line == "```console\n"
		page.WriteString(line)
	}
	return page.String()
}

// unstable is what differs from one time to another.
var unstable = []struct {
	pattern *regexp.Regexp
	stable  string
}{
	{regexp.MustCompile(`(?m)\b\d+(?:m?s|m\d+s)$`), "5s"}, // The column AGE.
	{regexp.MustCompile(`\b(?:linux|darwin)/\w+ go[\w.]+`), "linux/amd64 go1.26"},
}

// run returns what a command prints.
func (s *session) run(command string) string {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), timeout)
	defer cancel()
	shell := exec.CommandContext(ctx, "sh", "-c", command)
	shell.Dir, shell.Env = s.root, s.environ
	out, err := shell.CombinedOutput()
	if err != nil {
		s.Errorf("%s: %v\n%s", command, err, out)
	}
	text := string(out)
	if s.version != "" {
		text = strings.ReplaceAll(text, s.version, "v1.0.0")
	}
	for _, u := range unstable {
		text = u.pattern.ReplaceAllString(text, u.stable)
	}
	return text
}

// start starts the host as the Deployment would.
func (s *session) start() {
	s.Helper()
	config, err := clientcmd.LoadFromFile(s.Kubeconfig)
	env.NoError(s, err)
	token := s.run("kubectl -n libretto create token libretto")
	for _, auth := range config.AuthInfos {
		auth.Token, auth.ClientCertificateData, auth.ClientKeyData = strings.TrimSpace(token), nil, nil
	}
	kubeconfig := filepath.Join(s.TempDir(), "kubeconfig")
	env.NoError(s, clientcmd.WriteToFile(*config, kubeconfig))
	args := strings.Fields(s.run(`kubectl -n libretto get deployment libretto -o jsonpath='{.spec.template.spec.containers[0].args[*]}'`))
	if len(args) == 0 || args[0] != "serve" {
		s.Fatalf("the Deployment runs %q", args)
	}
	ctx, cancel := context.WithTimeout(s.Context(), timeout)
	defer cancel()
	s.host, err = s.StartLibretto(ctx, append(args[1:], "--kubeconfig", kubeconfig, "--namespace=libretto", "--leader-elect-resource-namespace=libretto")...)
	env.NoError(s, err)
}

// stop stops the host, if it runs.
func (s *session) stop() {
	if s.host == nil {
		return
	}
	if err := s.host.Stop(); err != nil {
		s.Error(err)
	}
	if s.Failed() {
		s.Logf("libretto's log:\n%s", s.host.Log())
	}
	s.host = nil
}
