package delayproxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func TestParse(t *testing.T) {
	cases := map[string]struct {
		method, url string
		want        request
	}{
		"list":              {"GET", "/api/v1/namespaces/a/pods?limit=500", request{"list", "", "pods"}},
		"list all":          {"GET", "/api/v1/pods", request{"list", "", "pods"}},
		"watch":             {"GET", "/apis/apps/v1/deployments?watch=true", request{"watch", "apps", "deployments"}},
		"watch by number":   {"GET", "/apis/apps/v1/deployments?watch=1", request{"watch", "apps", "deployments"}},
		"get":               {"GET", "/apis/apps/v1/namespaces/a/deployments/b", request{"get", "apps", "deployments"}},
		"get namespace":     {"GET", "/api/v1/namespaces/a", request{"get", "", "namespaces"}},
		"namespace status":  {"PUT", "/api/v1/namespaces/a/status", request{"update", "", "namespaces/status"}},
		"create":            {"POST", "/api/v1/namespaces/a/pods", request{"create", "", "pods"}},
		"update status":     {"PUT", "/apis/apps/v1/namespaces/a/deployments/b/status", request{"update", "apps", "deployments/status"}},
		"patch":             {"PATCH", "/api/v1/nodes/a", request{"patch", "", "nodes"}},
		"delete":            {"DELETE", "/api/v1/nodes/a", request{"delete", "", "nodes"}},
		"delete collection": {"DELETE", "/api/v1/namespaces/a/pods", request{"deletecollection", "", "pods"}},
		"discovery":         {"GET", "/apis", request{"get", "", ""}},
		"group":             {"GET", "/apis/apps/v1", request{"get", "", ""}},
		"health":            {"GET", "/readyz", request{"get", "", ""}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := parse(httptest.NewRequest(tc.method, tc.url, nil)); got != tc.want {
				t.Errorf("%s %s is %+v, want %+v", tc.method, tc.url, got, tc.want)
			}
		})
	}
}

func TestMatches(t *testing.T) {
	what := request{"patch", "apps", "deployments"}
	for name, tc := range map[string]struct {
		rule Rule
		want bool
	}{
		"everything":     {Rule{}, true},
		"verb":           {Rule{Verbs: []string{"get", "patch"}}, true},
		"other verb":     {Rule{Verbs: []string{"get"}}, false},
		"resource":       {Rule{Resources: []string{"deployments"}}, true},
		"subresource":    {Rule{Resources: []string{"deployments/status"}}, false},
		"group":          {Rule{Group: "apps"}, true},
		"other group":    {Rule{Group: "batch", Verbs: []string{"patch"}}, false},
		"all its fields": {Rule{Verbs: []string{"patch"}, Resources: []string{"pods"}, Group: "apps"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.rule.matches(what); got != tc.want {
				t.Errorf("%+v matches %+v: %v, want %v", tc.rule, what, got, tc.want)
			}
		})
	}
}

// TestStream checks when parts are read, and that a shorter delay does not have one overtake another.
func TestStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read, write := io.Pipe()
		var delay atomic.Int64
		delay.Store(int64(time.Second))
		s := delayed(read, func() time.Duration { return time.Duration(delay.Load()) })
		start := time.Now()
		go func() {
			fmt.Fprintln(write, "one")
			time.Sleep(400 * time.Millisecond)
			fmt.Fprintln(write, "two")
			synctest.Wait() // Until it has been taken, with the delay of before.
			delay.Store(0)
			fmt.Fprintln(write, "three")
			write.Close()
		}()
		lines := bufio.NewScanner(s)
		for _, want := range []struct {
			line  string
			after time.Duration
		}{{"one", time.Second}, {"two", 1400 * time.Millisecond}, {"three", 1400 * time.Millisecond}} {
			if !lines.Scan() || lines.Text() != want.line || time.Since(start) != want.after {
				t.Errorf("%q is read after %s, want %q after %s", lines.Text(), time.Since(start), want.line, want.after)
			}
		}
		if lines.Scan() || lines.Err() != nil {
			t.Errorf("then comes %q (%v), want the end", lines.Text(), lines.Err())
		}
	})
}

// TestClosedStream checks that a write does not wait for a closed reader.
func TestClosedStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read, write := io.Pipe()
		s := delayed(read, func() time.Duration { return time.Hour })
		go fmt.Fprint(write, "late")
		ended := make(chan error)
		go func() {
			_, err := s.Read(make([]byte, 10))
			ended <- err
		}()
		synctest.Wait()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err != io.ErrClosedPipe {
			t.Errorf("a read ends with %v", err)
		}
	})
}

// TestProxy goes through a proxy as a client does that has its kubeconfig.
func TestProxy(t *testing.T) {
	var served atomic.Int64
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served.Add(1)
		fmt.Fprintf(w, "%s %s by %s", r.Method, r.URL.Path, r.UserAgent())
	}))
	t.Cleanup(backend.Close)
	p, err := Start(&rest.Config{Host: backend.URL, UserAgent: "the proxy"}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop() })
	config, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(ctx context.Context, method string) (string, error) {
		request, err := http.NewRequestWithContext(ctx, method, config.Host+"/api/v1/nodes/a", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("User-Agent", "the client")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		return string(body), err
	}
	if got, err := ask(t.Context(), "GET"); got != "GET /api/v1/nodes/a by the client" {
		t.Errorf("the answer is %q (%v)", got, err)
	}

	// A client that gives up while a request is held has not reached the API server; later it has.
	for name, tc := range map[string]struct {
		rule Rule
		want int64
	}{
		"request": {Rule{Verbs: []string{"patch"}, Request: time.Hour}, 0},
		"reply":   {Rule{Verbs: []string{"patch"}, Reply: time.Hour}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p.Set(tc.rule)
			before := served.Load()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if got, err := ask(ctx, "PATCH"); err == nil {
				t.Errorf("there is an answer, %q", got)
			}
			if got := served.Load() - before; got != tc.want {
				t.Errorf("the API server got %d requests, want %d", got, tc.want)
			}
			if _, err := ask(t.Context(), "GET"); err != nil {
				t.Errorf("another verb: %v", err)
			}
		})
	}
}
