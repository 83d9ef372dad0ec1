package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var errBoom = errors.New("boom")

func TestNamespacePrefix(t *testing.T) {
	cases := map[string]struct {
		test, want, why string
	}{
		"plain":   {"TestAdopt", "adopt-", "the prefix of all tests says nothing"},
		"subtest": {"TestAdopt/of_Other Owner", "adopt-of-other-owner-", "only letters and digits are allowed"},
		"long":    {"Test" + strings.Repeat("x", 90), strings.Repeat("x", 50) + "-", "a name has at most 63 bytes"},
		"nothing": {"Test/世", "test-", "a name cannot begin with a dash"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, namespacePrefix(c.test)); diff != "" {
				t.Errorf("%s:\n%s", c.why, diff)
			}
		})
	}
}

func TestRoot(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "test", "cluster")); err != nil {
		t.Errorf("not the root: %v", err)
	}
}

func TestRootInsideAnotherModule(t *testing.T) {
	t.Chdir(filepath.Join("..", "controlplane"))
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Base(root) == "controlplane" {
		t.Errorf("took the nested module at %s for the root", root)
	}
}

func TestMissingBinary(t *testing.T) {
	t.Setenv(binDirVariable, t.TempDir())
	_, err := Binary("controlplane")
	if err == nil || !strings.Contains(err.Error(), "run make controlplane") {
		t.Errorf("want an error that says what to do, got %v", err)
	}
}

func TestReadFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "b.yaml", "# only a comment\n---\nkind: List\napiVersion: v1\nitems:\n- {kind: A, apiVersion: v1}\n- {kind: B, apiVersion: v1}\n---\nkind: C\napiVersion: v1\n")
	write(t, dir, "c.json", `{"kind": "D", "apiVersion": "v1"}`)
	write(t, dir, "a.yml", "kind: Z\napiVersion: v1\n")
	write(t, dir, "README.md", "not: an object")
	objects, err := ReadFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, object := range objects {
		kinds = append(kinds, object.GetKind())
	}
	if diff := cmp.Diff([]string{"Z", "A", "B", "C", "D"}, kinds); diff != "" {
		t.Error(diff)
	}
}

func TestReadFilesNamesTheFile(t *testing.T) {
	path := write(t, t.TempDir(), "broken.yaml", "kind: [")
	if _, err := ReadFiles(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("want the path in the error, got %v", err)
	}
}

func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestServedResources(t *testing.T) {
	definition := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": "example.com",
		"names": map[string]any{"plural": "things"},
		"versions": []any{
			map[string]any{"name": "v1", "served": true},
			map[string]any{"name": "v1alpha1", "served": false},
		},
	}}}
	want := []schema.GroupVersionResource{{Group: "example.com", Version: "v1", Resource: "things"}}
	if diff := cmp.Diff(want, servedResources(definition)); diff != "" {
		t.Error(diff)
	}
}

func TestPollReturnsTheLastError(t *testing.T) {
	calls := 0
	err := poll(50*time.Millisecond, growingInterval, func() (bool, error) {
		calls++
		return false, errBoom
	})
	if !errors.Is(err, errBoom) || calls < 2 {
		t.Errorf("want the check's error after some calls, got %v after %d", err, calls)
	}
}

func TestPollStopsWhenDone(t *testing.T) {
	calls := 0
	err := poll(time.Hour, growingInterval, func() (bool, error) {
		calls++
		return calls == 2, nil
	})
	if err != nil || calls != 2 {
		t.Errorf("want two calls, got %d, error %v", calls, err)
	}
}

func TestGrowingInterval(t *testing.T) {
	for waited, want := range map[time.Duration]time.Duration{
		0:                      20 * time.Millisecond,
		400 * time.Millisecond: 50 * time.Millisecond,
		time.Minute:            100 * time.Millisecond,
	} {
		if got := growingInterval(waited); got != want {
			t.Errorf("after %s the next look is %s later, want %s", waited, got, want)
		}
	}
}

func TestMetricsSum(t *testing.T) {
	metrics, err := ParseMetrics(strings.NewReader(`# TYPE open gauge
open{verb="WATCH",resource="pods",version="v1"} 2
open{verb="WATCH",resource="pods",version="v2"} 1
open{verb="CONNECT",resource="pods",version="v1"} 5
# TYPE took histogram
took_bucket{le="1"} 3
took_bucket{le="+Inf"} 4
took_sum 9
took_count 4
plain 7
`))
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		name   string
		labels map[string]string
		want   float64
	}{
		"some labels":   {"open", map[string]string{"verb": "WATCH", "resource": "pods"}, 3},
		"all":           {"open", nil, 8},
		"label not set": {"open", map[string]string{"group": "apps"}, 0},
		"histogram":     {"took", nil, 4},
		"without type":  {"plain", nil, 7},
		"unknown":       {"closed", nil, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := metrics.Sum(c.name, c.labels); got != c.want {
				t.Errorf("want %v, got %v", c.want, got)
			}
		})
	}
}

const log = `{"auditID":"1","stage":"ResponseStarted","verb":"watch","userAgent":"libretto/1","objectRef":{"resource":"pods"},"responseStatus":{"code":200}}
{"auditID":"2","stage":"ResponseComplete","verb":"patch","userAgent":"libretto/1","objectRef":{"resource":"things","apiGroup":"example.com","subresource":"status","name":"a","namespace":"n"},"responseStatus":{"code":200}}
{"auditID":"1","stage":"ResponseComplete","verb":"watch","userAgent":"libretto/1","objectRef":{"resource":"pods"},"responseStatus":{"code":200}}
{"auditID":"3","stage":"ResponseStarted","verb":"watch","userAgent":"libretto/1","objectRef":{"resource":"things","apiGroup":"example.com"},"responseStatus":{"code":200}}
{"auditID":"4","stage":"ResponseComplete","verb":"watch","userAgent":"libretto/1","objectRef":{"resource":"pods"},"responseStatus":{"code":403}}
{"auditID":"5","stage":"ResponseComplete","verb":"get","userAgent":"kubectl/1","objectRef":{"resource":"pods"},"responseStatus":{"code":200}}
`

func TestRequestsCountOnce(t *testing.T) {
	events, err := parseAudit([]byte(log))
	if err != nil {
		t.Fatal(err)
	}
	requests := requestsOf(events, "libretto/")
	want := `watch pods / 200 (libretto/1)
patch things/status.example.com n/a 200 (libretto/1)
watch things.example.com / 200 (libretto/1)
watch pods / 403 (libretto/1)`
	if diff := cmp.Diff(want, requests.String()); diff != "" {
		t.Error(diff)
	}
	if n := len(requests.Writes().Of("example.com", "things").In("n")); n != 1 {
		t.Errorf("want one write, got %d", n)
	}
}

func TestOpenWatches(t *testing.T) {
	events, err := parseAudit([]byte(log))
	if err != nil {
		t.Fatal(err)
	}
	want := "watch things.example.com / 200 (libretto/1)"
	if diff := cmp.Diff(want, openWatches(events, "libretto/").String()); diff != "" {
		t.Error(diff)
	}
}
