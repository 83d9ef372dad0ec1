package scripttest

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/standard"
)

// measuringEngine notes the memory that scripts ask for.
type measuringEngine struct {
	engines.Engine
	asked *[]int64
}

func (e measuringEngine) Compile(ctx context.Context, src engines.Source) (engines.Program, error) {
	*e.asked = append(*e.asked, src.Script.MemoryBytes)
	return e.Engine.Compile(ctx, src)
}

// TestMemoryOfPatchedDefinition checks that a case gives hooks no more memory than the definition in the cluster does, whose author
// may be somebody else.
func TestMemoryOfPatchedDefinition(t *testing.T) {
	r, _ := newRunner(t, crd)
	var asked []int64
	script := standard.Scripts()[0]
	begin := script.New
	script.New = func(c engines.Config) (engines.Engine, error) {
		engine, err := begin(c)
		return measuringEngine{engine, &asked}, err
	}
	var err error
	if r.Scripts, err = engines.NewRegistry(engines.Config{}, script); err != nil {
		t.Fatal(err)
	}
	text := textOf(t, r, map[string]string{"sync.js": syncScript, "a_test.yaml": header + `
- {name: more, definitionPatch: {spec: {hooks: {sync: {script: {limits: {memory: 1Gi}}}}}}}
- {name: less, definitionPatch: {spec: {hooks: {sync: {script: {limits: {memory: 64Mi}}}}}}}
`})
	asked = nil
	report, err := r.Test(t.Context(), text)
	if err != nil || report.Passed != 2 {
		t.Fatalf("%+v, error %v", report, err)
	}
	if diff := cmp.Diff([]int64{v1alpha1.DefaultScriptMemory, 64 << 20}, asked); diff != "" {
		t.Errorf("memory: -want, +got:\n%s", diff)
	}
}
