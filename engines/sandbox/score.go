package sandbox

import "hash/maphash"

// unusable is the score of a worker that must not be used.
const unusable = -1

// score rates the worker for a program and an object's preferred slot. Being of its trust domain counts
// most, so that a spare worker is left for others. Having the object counts more than having the program,
// which is sent only once, and that more than having the largest of its files, of an earlier revision.
func (w *process) score(prog *program, preferred int) int {
	if w.isForeign(prog.domain) {
		return unusable
	}
	if w.memory.mapped-reservedMemory(w.cachedBytes()) > prog.memory {
		return unusable // It was given more memory for another program than a question of this one allows.
	}
	if prog.memory > w.maxMemory {
		return unusable // It was started before there was a program with such a limit.
	}
	score := 0
	if w.trust.assigned {
		score += 8
	}
	if w.slot == preferred {
		score += 4
	}
	if w.caches.programs.has(prog.name) {
		score += 2
	}
	if w.caches.texts.has(prog.largest) {
		score++
	}
	return score
}

// preferredSlot returns the slot of the worker that calls with this seed prefer, because it has most of
// their objects. It returns -1 for an empty seed.
func (p *Pool) preferredSlot(seed string) int {
	if seed == "" {
		return -1
	}
	return int(maphash.String(p.hash, seed) % uint64(p.config.Workers))
}

// cachedBytes returns the memory of the objects and programs that the worker keeps for later calls, with the texts
// of files and what engines keep.
func (w *process) cachedBytes() int64 {
	return w.caches.objects.memoryBytes() + w.caches.programs.memory + w.caches.texts.memory() + w.caches.engineMemory
}

// maxEngineMemory bounds what a worker is believed about the memory that its engines keep.
const maxEngineMemory = 112 << 20

// maxCachedMemory bounds the memory of what a worker keeps. A worker that keeps more, after a large message, is
// replaced.
const maxCachedMemory = 320 << 20

// reservedMemory returns how much memory to allow for what the worker keeps. It is rounded up, because
// changing the limit takes time and the next message may add to it.
func reservedMemory(kept int64) int64 {
	const step = 16 << 20
	return (kept/step + 1) * step
}

// retireReason returns why the worker must be replaced, or "".
func (w *process) retireReason() string {
	switch {
	case w.nearLimit:
		return reasonMemory
	case w.questions.Load() >= maxQuestions:
		return reasonAge
	case reservedMemory(w.cachedBytes()) > maxCachedMemory:
		return reasonResident
	case float64(w.memory.grown-w.cachedBytes()) > maxGrowth*float64(w.budget):
		return reasonResident
	default:
		return ""
	}
}
