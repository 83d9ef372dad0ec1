package explore

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/jsonvalue"
	"github.com/libretto-k8s/libretto/lru"
)

// memoryBytes is how much the answers of hooks may take that are kept for later calls.
const memoryBytes = 128 << 20

// remember returns programs that answer a call from memory if one with the same content was made before. Programs are pure: the check
// Deterministic finds those that are not.
func remember(programs map[string]engines.Program) map[string]engines.Program {
	all, cache := make(map[string]engines.Program, len(programs)), lru.New(memoryBytes)
	for hook, program := range programs {
		all[hook] = rememberingProgram{Program: program, hook: hook, cache: cache}
	}
	return all
}

// remembering returns a subject whose programs remember their answers. Patched definitions are compiled once.
func remembering(s *controllertest.Subject) *controllertest.Subject {
	next := &controllertest.Subject{
		Definition: s.Definition, Programs: remember(s.Programs), Resources: s.Resources, ReadFile: s.ReadFile, ShowSecrets: s.ShowSecrets,
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
			compiled[hash] = remember(programs)
		}
		return compiled[hash], err
	}
	return next
}

// rememberingProgram keeps the answers of a program.
type rememberingProgram struct {
	engines.Program
	hook  string
	cache *lru.Cache
}

// callKey is the content of a call. now is zero for an answer that does not depend on the time.
type callKey struct {
	subject, seed string
	request       uint64
	now           int64
}

// answer is what a program returned.
type answer struct {
	response engines.Response
	err      error
}

// Run returns the answer of an equal call, or runs the program. A call that was cancelled leaves nothing.
func (p rememberingProgram) Run(ctx context.Context, call engines.Call) (engines.Response, error) {
	key := callKey{subject: call.Subject, seed: call.Seed, request: jsonvalue.Hash(call.Request)}
	timed := key
	timed.now = call.Now.UnixNano()
	for _, k := range []callKey{key, timed} {
		if known, ok := p.cache.Get(lru.Key{Owner: p.hook, ID: k}); ok {
			kept, _ := known.(answer)
			return kept.response, kept.err
		}
	}
	response, err := p.Program.Run(ctx, call)
	if ctx.Err() != nil {
		return response, err
	}
	if response.TimeDependent {
		key = timed
	}
	const overhead = 512
	p.cache.Put(lru.Key{Owner: p.hook, ID: key}, answer{response, err}, int64(jsonvalue.Size(response.Body, memoryBytes)+overhead))
	return response, err
}
