package parent

import (
	"errors"
	"fmt"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// ErrProgramsLoading is Revisions.ProgramsOf's error for a revision that is being loaded.
var ErrProgramsLoading = errors.New("the scripts are being loaded")

// oldPrograms are the programs of another revision of the scripts, or why there are none.
type oldPrograms struct {
	byHook map[string]engines.Program
	err    error
}

// findOldPrograms finds the programs of the other revisions that calls name. It returns ErrLater, before any call is made, if some are
// being loaded. Where there is no history of scripts, the programs that serve answer all calls.
func (p *pass) findOldPrograms(calls []variant.Call) error {
	p.oldPrograms = map[string]oldPrograms{}
	if p.config.Revisions.ProgramsOf == nil {
		return nil
	}
	for _, call := range calls {
		id := call.ScriptRevision
		if _, known := p.oldPrograms[id]; id == "" || known {
			continue
		}
		programs, err := p.config.Revisions.ProgramsOf(id)
		if errors.Is(err, ErrProgramsLoading) {
			return fmt.Errorf("%w: revision %.16s of the scripts, by which some children were made, is being loaded", controller.ErrLater, id)
		}
		p.oldPrograms[id] = oldPrograms{programs.ByHook, err}
	}
	return nil
}

// programOf returns the program that answers a call.
func (p *pass) programOf(call variant.Call) (engines.Program, error) {
	byHook := p.programs.ByHook
	if old, isOld := p.oldPrograms[call.ScriptRevision]; isOld {
		if old.err != nil {
			return nil, &engines.Error{Kind: engines.Invalid,
				Message: fmt.Sprintf("revision %.16s of the scripts: %v", call.ScriptRevision, old.err)}
		}
		byHook = old.byHook
	}
	if program := byHook[call.Hook]; program != nil {
		return program, nil
	}
	return nil, &engines.Error{Kind: engines.Invalid, Message: "the hook is not loaded"}
}
