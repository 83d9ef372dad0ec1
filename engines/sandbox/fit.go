package sandbox

import "hash/maphash"

// unfit is how well a worker does that must not be used.
const unfit = -1

// fit is how well the worker would do for a program and an object: that it has seen
// the object counts for more than that it has the program, which is sent only once.
func (w *process) fit(of *program, home int) int {
	if w.size.mapped-w.objects.memory() > of.memory {
		return unfit // It got more for another program than this one may use.
	}
	score := 0
	if w.programs.has(of.name) {
		score++
	}
	if w.slot == home {
		score += 2
	}
	return score
}

// homeOf is the slot whose worker is preferred for calls with that seed, so that
// it has most objects already, or -1.
func (p *Pool) homeOf(seed string) int {
	if seed == "" {
		return -1
	}
	return int(maphash.String(p.hash, seed) % uint64(p.config.Workers))
}

// worn says why a worker is to be replaced, or "".
func (w *process) worn() string {
	switch {
	case w.spent:
		return becauseMemory
	case w.number.Load() >= maxQuestions:
		return becauseOld
	case float64(w.size.kept-w.objects.memory()) > fullAt*float64(w.memory):
		return becauseLarge
	default:
		return ""
	}
}
