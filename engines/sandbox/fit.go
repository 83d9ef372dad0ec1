package sandbox

import "hash/maphash"

// unfit is how well a worker does that must not be used.
const unfit = -1

// fit is how well the worker would do for a program and an object: that it has seen
// the object counts for more than that it has the program, which is sent only once.
func (w *process) fit(of *program, home int) int {
	if w.size.mapped-w.kept() > of.memory {
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

// kept is what the worker has for later calls, beside what a call may use, in bytes.
func (w *process) kept() int64 { return w.objects.memory() + w.programs.memory }

// reserved is how much memory to allow for what is kept: in steps, because to change it
// takes time, and with room for what the next message adds.
func reserved(kept int64) int64 {
	const step = 16 << 20
	return (kept/step + 1) * step
}

// worn says why a worker is to be replaced, or "".
func (w *process) worn() string {
	switch {
	case w.spent:
		return becauseMemory
	case w.number.Load() >= maxQuestions:
		return becauseOld
	case float64(w.size.kept-w.kept()) > fullAt*float64(w.memory):
		return becauseLarge
	default:
		return ""
	}
}
