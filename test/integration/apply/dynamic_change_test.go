package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// TestSchemaChanges lets a kind get a field that it did not have. What is asked for in
// it is dropped before, without a write, and written afterwards. The API server is asked
// only when something may have changed.
func TestSchemaChanges(t *testing.T) {
	b := newDynamicEnv(t)
	client, err := discovery.NewDiscoveryClientForConfig(cluster.Get(t).Config)
	env.NoError(t, err)
	// The clock stands still, so that nothing is asked for but after Changed.
	counted := &counter{api: schema.Over(client.RESTClient())}
	b.schemas = schema.New(schema.Config{API: counted, Interval: time.Hour, Timeout: soon, Clock: testclock.NewFakeClock(time.Now()),
		Log: testr.New(t)})
	group := b.namespace + ".example.com"
	desired := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"a": "1", "b": "2"}}}
	desired.SetAPIVersion(group + "/v1")
	desired.SetKind("Growing")
	desired.SetName("x")
	desired.SetNamespace(b.namespace)

	b.define(group, "a: {type: string}")
	b.wait(func() bool { return b.schemas.For(t.Context(), desired.GroupVersionKind()) != nil })
	env.NoError(t, b.sync(desired))
	before := counted.requests()
	if err := b.settles(desired); err != nil {
		t.Fatalf("a field that is dropped: %v", err)
	}
	if now := counted.requests(); now != before {
		t.Errorf("%d requests for schemas while nothing changed", now-before)
	}
	b.define(group, "a: {type: string}, b: {type: string}")
	b.wait(func() bool { return len(b.diff(desired)) > 0 })
	env.NoError(t, b.settles(desired))
	if found, _, _ := unstructured.NestedString(b.find(desired).Object, "spec", "b"); found != "2" {
		t.Errorf("the new field is %q", found)
	}
}

// define makes or changes a kind whose spec has some properties.
func (b *dynamicEnv) define(group, properties string) {
	b.t.Helper()
	text := fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: growings.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {kind: Growing, plural: growings, singular: growing}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {%[2]s}}}}}
`, group, properties)
	definition := &unstructured.Unstructured{}
	env.NoError(b.t, yaml.Unmarshal([]byte(text), &definition.Object))
	env.NoError(b.t, cluster.Get(b.t).Apply(b.t.Context(), b.namespace, definition))
}

// wait waits until something holds, while the schemas may have changed.
func (b *dynamicEnv) wait(holds func() bool) {
	b.t.Helper()
	cluster.Eventually(b.t, soon, func() error {
		b.schemas.Changed()
		if !holds() {
			return errors.New("the API server does not tell the new schema")
		}
		return nil
	})
}

// counter counts what is fetched.
type counter struct {
	api  schema.Fetcher
	mu   sync.Mutex
	seen []string
}

// Fetch counts one more.
func (c *counter) Fetch(ctx context.Context, path string) ([]byte, error) {
	c.mu.Lock()
	c.seen = append(c.seen, strings.SplitN(path, "?", 2)[0])
	c.mu.Unlock()
	return c.api.Fetch(ctx, path)
}

func (c *counter) requests() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.seen)
}
