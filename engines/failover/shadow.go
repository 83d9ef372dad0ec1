package failover

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/libretto-k8s/libretto/engines"
)

// Outcomes of a comparison, as metrics name them.
const (
	equal     = "equal"
	different = "different"
	failed    = "failed"
	dropped   = "dropped"
)

// Limits on what the log has of a shadow's answer, in bytes.
const (
	maxErrorBytes = 2 << 10
	maxPathBytes  = 1 << 10
)

// shadowed answers as its program does, and sends the same calls to the shadow.
type shadowed struct {
	engines.Program
	combiner *Combiner
	hook     Hook
	counts   counters
	shadow   TimedProgram
}

// WithShadow returns a program that answers as serving does. Each of its answers is
// compared with that of the shadow in the background: no call waits for it, and it has no
// effect. A shadow without a program has not loaded. Neither
// request nor answer may be changed after the call.
func (p *Combiner) WithShadow(hook Hook, serving engines.Program, shadow TimedProgram) engines.Program {
	if p == nil {
		return serving
	}
	counts := p.countersFor(hook)
	counts.beginShadow()
	return &shadowed{Program: serving, combiner: p, hook: hook, counts: counts, shadow: shadow}
}

// Run asks the program that serves.
func (s *shadowed) Run(ctx context.Context, call engines.Call) (engines.Response, error) {
	response, err := s.Program.Run(ctx, call)
	if err != nil {
		return response, err // There is nothing to compare with.
	}
	select {
	case s.combiner.slots <- struct{}{}:
		go func() {
			defer func() { <-s.combiner.slots }()
			s.compare(call, response.Body)
		}()
	default:
		s.counts.incShadow(dropped)
	}
	return response, err
}

// compare asks the shadow and counts the result.
func (s *shadowed) compare(call engines.Call, served any) {
	log := s.combiner.log.WithValues("definition", s.hook.Definition, "hook", s.hook.Name, "parent", objectName(call.Request))
	body, err := s.ask(call)
	if err != nil {
		s.counts.incShadow(failed)
		log.V(1).Info("the shadow has no answer", "error", engines.Truncate(err.Error(), maxErrorBytes))
		return
	}
	found := differences(served, body)
	if len(found) == 0 {
		s.counts.incShadow(equal)
		return
	}
	s.counts.incShadow(different)
	log.V(1).Info("the shadow answers differently", "differences", len(found), "first", engines.Truncate(found[0].path.String(), maxPathBytes))
	if values := log.V(diffLevel); values.Enabled() {
		values.Info("the shadow answers differently", "diff", s.combiner.Secret.format(found))
	}
}

// diffLevel is the verbosity at which differing values are logged. Those of Secrets are hidden.
const diffLevel = 4

// ask asks the shadow. It returns a panic as an error.
func (s *shadowed) ask(call engines.Call) (body any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the engine panicked: %v: please report this as a bug of libretto\n%s", r, debug.Stack())
		}
	}()
	if s.shadow.Program == nil {
		return nil, &engines.Error{Kind: engines.Invalid, Message: "it has not loaded"}
	}
	response, err := s.shadow.run(context.Background(), call)
	return response.Body, err
}

// objectName names the object that a request is about.
func objectName(request map[string]any) string {
	for _, field := range []string{"parent", "object"} {
		object, _ := request[field].(map[string]any)
		metadata, _ := object["metadata"].(map[string]any)
		name, _ := metadata["name"].(string)
		if namespace, _ := metadata["namespace"].(string); namespace != "" {
			return namespace + "/" + name
		}
		if name != "" {
			return name
		}
	}
	return ""
}
