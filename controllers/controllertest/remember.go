package controllertest

import (
	"context"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/jsonvalue"
	"github.com/libretto-k8s/libretto/lru"
)

// memoryBytes is how much the answers of hooks may take that are kept for later calls.
const memoryBytes = 128 << 20

// Remember returns programs that answer a call from memory if one with the same content was made before: cases have many states in
// common. Programs are pure: the check Deterministic, which runs each twice, finds those that are not.
func Remember(programs map[string]engines.Program) map[string]engines.Program {
	all, cache := make(map[string]engines.Program, len(programs)), lru.New(memoryBytes)
	for hook, program := range programs {
		if _, remembers := program.(rememberingProgram); !remembers {
			program = rememberingProgram{Program: program, hook: hook, cache: cache}
		}
		all[hook] = program
	}
	return all
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
}

// Run returns the answer of an equal call, or runs the program.
func (p rememberingProgram) Run(ctx context.Context, call engines.Call) (engines.Response, error) {
	return p.run(ctx, call, callKey{})
}

// run returns the answer of an equal call, or runs the program. A call that was cancelled or too large leaves nothing.
func (p rememberingProgram) run(ctx context.Context, call engines.Call, key callKey) (engines.Response, error) {
	key.subject, key.seed, key.request = call.Subject, call.Seed, jsonvalue.Hash(call.Request)
	timed := key
	timed.now = call.Now.UnixNano()
	for _, k := range []callKey{key, timed} {
		if known, ok := p.cache.Get(lru.Key{Owner: p.hook, ID: k}); ok {
			kept, _ := known.(answer)
			return kept.response, kept.err
		}
	}
	response, err := p.Program.Run(ctx, call)
	if kind := engines.KindOf(err); ctx.Err() != nil || err != nil && (kind == engines.Timeout || kind == engines.Exhausted) {
		return response, err
	}
	if response.TimeDependent {
		key = timed
	}
	const overhead = 512
	p.cache.Put(lru.Key{Owner: p.hook, ID: key}, answer{response, err}, int64(jsonvalue.Size(response.Body, memoryBytes)+overhead))
	return response, err
}
