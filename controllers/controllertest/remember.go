package controllertest

import (
	"context"
	"fmt"

	"golang.org/x/sync/singleflight"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
	"github.com/libretto-k8s/libretto/runtime/values/lru"
)

// memoryBytes is how much the answers of hooks may take that are kept for later calls.
const memoryBytes = 128 << 20

// Remember returns programs that answer a call from memory if one with the same content was made before: cases have many states in
// common. Programs are pure: the check Deterministic, which runs each twice, finds those that are not.
func Remember(programs map[string]engines.Program) map[string]engines.Program {
	all, cache, running := make(map[string]engines.Program, len(programs)), lru.New(memoryBytes), &singleflight.Group{}
	for hook, program := range programs {
		if _, remembers := program.(rememberingProgram); !remembers {
			program = rememberingProgram{Program: program, hook: hook, cache: cache, running: running}
		}
		all[hook] = program
	}
	return all
}

// Forget returns the program that one of Remember runs, or the program itself.
func Forget(program engines.Program) engines.Program {
	if p, remembers := program.(rememberingProgram); remembers {
		return p.Program
	}
	return program
}

// runAgain runs a program for a call that was made before. The second answer is remembered for itself.
func runAgain(ctx context.Context, program engines.Program, call engines.Call) (engines.Response, error) {
	if p, remembers := program.(rememberingProgram); remembers {
		return p.run(ctx, call, callKey{second: true})
	}
	return program.Run(ctx, call)
}

// rememberingProgram keeps the answers of a program.
type rememberingProgram struct {
	engines.Program
	hook  string
	cache *lru.Cache
	// running are the calls under way, by hook and content.
	running *singleflight.Group
}

// callKey is the content of a call. now is zero for an answer that does not depend on the time.
type callKey struct {
	subject, seed string
	request       uint64
	now           int64
	second        bool
}

// answer is what a program returned.
type answer struct {
	response engines.Response
	err      error
	// kept is set if it is the answer to all equal calls.
	kept bool
}

// Run returns the answer of an equal call, or runs the program.
func (p rememberingProgram) Run(ctx context.Context, call engines.Call) (engines.Response, error) {
	return p.run(ctx, call, callKey{})
}

// run returns the answer of an equal call, or runs the program.
func (p rememberingProgram) run(ctx context.Context, call engines.Call, key callKey) (engines.Response, error) {
	key.subject, key.seed, key.request = call.Subject, call.Seed, jsonvalue.Hash(call.Request)
	timed := key
	timed.now = call.Now.UnixNano()
	if found, ok := p.known(key, timed); ok {
		return found.response, found.err
	}
	// Cases that run at the same time often begin alike: one of them runs the program, and the others wait for its answer.
	runs := false
	result, _, _ := p.running.Do(fmt.Sprintf("%s %+v", p.hook, timed), func() (any, error) {
		runs = true
		return p.evaluate(ctx, call, key, timed), nil
	})
	found, _ := result.(answer)
	if !runs && !found.kept {
		found = p.evaluate(ctx, call, key, timed) // The other one may have been cancelled.
	}
	return found.response, found.err
}

// known returns the answer of an equal call.
func (p rememberingProgram) known(key, timed callKey) (answer, bool) {
	for _, k := range []callKey{key, timed} {
		if value, ok := p.cache.Get(lru.Key{Owner: p.hook, ID: k}); ok {
			found, _ := value.(answer)
			return found, true
		}
	}
	return answer{}, false
}

// evaluate runs the program and keeps its answer, under timed if it depends on the time. A call that was cancelled or that took too
// much leaves nothing.
func (p rememberingProgram) evaluate(ctx context.Context, call engines.Call, key, timed callKey) answer {
	if found, ok := p.known(key, timed); ok {
		return found // Another call has ended meanwhile.
	}
	response, err := p.Program.Run(ctx, call)
	found := answer{response: response, err: err}
	if kind := engines.KindOf(err); ctx.Err() != nil ||
		err != nil && (kind == engines.Timeout || kind == engines.Exhausted || kind == engines.Busy) {
		return found
	}
	if response.TimeDependent {
		key = timed
	}
	const overhead = 512
	found.kept = true
	p.cache.Put(lru.Key{Owner: p.hook, ID: key}, found, int64(jsonvalue.Size(response.Body, memoryBytes)+overhead))
	return found
}
