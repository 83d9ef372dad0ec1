package explore

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// remembering returns a subject whose programs remember their answers. Patched definitions are compiled once.
func remembering(s *controllertest.Subject) *controllertest.Subject {
	next := &controllertest.Subject{
		Definition: s.Definition, Programs: controllertest.Remember(s.Programs), Resources: s.Resources, ReadFile: s.ReadFile,
		ShowSecrets: s.ShowSecrets,
	}
	if s.Compile == nil {
		return next
	}
	var mu sync.Mutex
	compiled := map[uint64]map[string]engines.Program{}
	next.Compile = func(ctx context.Context, definition *unstructured.Unstructured) (map[string]engines.Program, error) {
		mu.Lock()
		defer mu.Unlock()
		hash := jsonvalue.Hash(definition.Object["spec"])
		if programs := compiled[hash]; programs != nil {
			return programs, nil
		}
		programs, err := s.Compile(ctx, definition)
		if err == nil {
			compiled[hash] = controllertest.Remember(programs)
		}
		return compiled[hash], err
	}
	return next
}
