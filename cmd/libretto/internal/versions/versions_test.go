package versions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
)

// own is the program of the tests.
var own = cli.Build{Version: "v1.4.2", Commit: "aaaa"}

func TestSkew(t *testing.T) {
	for name, c := range map[string]struct {
		own  cli.Build
		host Host
		want Skew
	}{
		"the same":                  {own, Host{Version: "v1.4.2", Commit: "aaaa"}, SkewNone},
		"another patch":             {own, Host{Version: "v1.4.0", Commit: "bbbb"}, SkewSmall},
		"another commit":            {own, Host{Version: "v1.4.2", Commit: "bbbb"}, SkewSmall},
		"one minor before":          {own, Host{Version: "v1.3.9"}, SkewSmall},
		"one minor after":           {own, Host{Version: "v1.5.0"}, SkewSmall},
		"two minors before":         {own, Host{Version: "v1.2.9"}, SkewTooFar},
		"two minors after":          {own, Host{Version: "v1.6.0-rc.1"}, SkewTooFar},
		"another major":             {own, Host{Version: "v2.4.2"}, SkewTooFar},
		"a host that is no release": {own, Host{Version: "a8574197-dirty"}, SkewSmall},
		"a host that does not say":  {own, Host{}, SkewSmall},
		"a program that is none":    {cli.Build{Version: "unreleased"}, Host{Version: "v1.4.2"}, SkewSmall},
		"both are the same one":     {cli.Build{Version: "unreleased"}, Host{Version: "unreleased"}, SkewNone},
		"with build data":           {cli.Build{Version: "v1.4.2+a"}, Host{Version: "v1.4.2_a"}, SkewNone},
	} {
		t.Run(name, func(t *testing.T) {
			if got := skewOf(c.own, c.host); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// leaseOf returns a lease that is held by an identity, with the labels of a host.
func leaseOf(b cli.Build, holder, identity string) coordinationv1.Lease {
	return coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "libretto", Name: "metacontroller", Labels: cli.LeaseLabels(b, holder)},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &identity},
	}
}

func TestHolder(t *testing.T) {
	for name, c := range map[string]struct {
		lease coordinationv1.Lease
		want  bool
	}{
		"the host":                        {leaseOf(own, "7-7", "pod_7-7"), true},
		"a version that is no label":      {leaseOf(cli.Build{Version: "a b"}, "7-7", "pod_7-7"), true},
		"released":                        {leaseOf(own, "7-7", ""), false},
		"taken by one that has no labels": {leaseOf(own, "7-7", "pod_8-8"), false},
		"never held":                      {coordinationv1.Lease{ObjectMeta: leaseOf(own, "7-7", "").ObjectMeta}, false},
		"of something else":               {coordinationv1.Lease{Spec: leaseOf(own, "", "pod_7-7").Spec}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if _, got := hostOf(&c.lease); got != c.want {
				t.Errorf("it is a host: %v, want %v", got, c.want)
			}
		})
	}
}

// server answers a list of leases and a single one, or nil with a refusal, and returns a kubeconfig for it.
func server(t *testing.T, list *coordinationv1.LeaseList, one *coordinationv1.Lease) string {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var answer any
		switch {
		case strings.HasSuffix(r.URL.Path, "/v1/leases") && list != nil:
			answer = list
		case strings.HasSuffix(r.URL.Path, "/namespaces/libretto/leases/metacontroller") && one != nil:
			answer = one
		default:
			w.WriteHeader(http.StatusForbidden)
			answer = metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: http.StatusForbidden,
				Reason: metav1.StatusReasonForbidden, Message: "you may not",
			}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(api.Close)
	return kubeconfig(t, api.URL)
}

func kubeconfig(t *testing.T, url string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "a",
		"contexts": [{"name": "a", "context": {"cluster": "a"}}], "clusters": [{"name": "a", "cluster": {"server": %q}}]}`, url)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestVersion has what is printed, on standard output and as errors, and that the command never fails but for a wrong flag.
func TestVersion(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	same, old := leaseOf(own, "7", "pod_7"), leaseOf(cli.Build{Version: "v1.1.0", Commit: "bbbb"}, "8", "pod_8")
	const first = "libretto v1.4.2 (aaaa) "
	for name, c := range map[string]struct {
		kubeconfig, out, problem string
		args                     []string
	}{
		"no cluster":       {kubeconfig: "/nonexistent", out: first},
		"one that is gone": {kubeconfig: kubeconfig(t, closed.URL), out: first, problem: "the hosts are not known: "},
		"no host": {
			kubeconfig: server(t, &coordinationv1.LeaseList{}, nil), out: first, problem: "no host in the cluster holds a lease",
		},
		"the same": {
			kubeconfig: server(t, &coordinationv1.LeaseList{Items: []coordinationv1.Lease{same}}, nil),
			out:        "\nhost v1.4.2 (aaaa) in namespace libretto, lease metacontroller\n",
		},
		"an old one": {
			kubeconfig: server(t, &coordinationv1.LeaseList{Items: []coordinationv1.Lease{old}}, nil),
			out:        "\nhost v1.1.0 (bbbb) in", problem: "warning: the host in namespace libretto is v1.1.0 (bbbb), more than one minor version",
		},
		"who may read one": {kubeconfig: server(t, nil, &same), out: "\nhost v1.4.2 (aaaa) in"},
		"who may read none": {
			kubeconfig: server(t, nil, nil), out: first, problem: "you may not",
		},
		"client": {kubeconfig: kubeconfig(t, closed.URL), out: first, args: []string{"--client"}},
		"JSON": {
			kubeconfig: server(t, &coordinationv1.LeaseList{Items: []coordinationv1.Lease{old}}, nil), args: []string{"-o", "json"},
			out: `"hosts": [`, problem: "warning: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out, problem bytes.Buffer
			getenv := func(name string) string { return map[string]string{"KUBECONFIG": c.kubeconfig}[name] }
			w := cli.Process{
				Args: append([]string{"version"}, c.args...), Version: own.Version, Commit: own.Commit, Getenv: getenv, Stdout: &out, Stderr: &problem,
			}
			if err := cli.NewRoot(w, Command).ExecuteContext(t.Context()); err != nil {
				t.Error(err)
			}
			if !strings.Contains(out.String(), c.out) {
				t.Errorf("it prints %q, want %q in it", out.String(), c.out)
			}
			if got := problem.String(); !strings.Contains(got, c.problem) || (got == "") != (c.problem == "") {
				t.Errorf("its errors are %q, want %q", got, c.problem)
			}
		})
	}
}
