package sandbox

import "testing"

func TestRetireReason(t *testing.T) {
	const budget = 100 << 20
	cases := map[string]struct {
		reason    string
		spent     bool
		questions uint64
		kept      int64
		objects   int
		want      string
	}{
		"new":             {reason: "a new worker is kept"},
		"busy":            {reason: "the limit is not reached", questions: maxQuestions - 1},
		"old":             {reason: "leaks of engines add up", questions: maxQuestions, want: reasonAge},
		"near limit":      {reason: "it came close to its memory limit", spent: true, want: reasonMemory},
		"grown":           {reason: "it keeps memory", kept: 76 << 20, want: reasonResident},
		"grown a little":  {reason: "the next call has room", kept: 74 << 20},
		"keeps objects":   {reason: "cached objects have memory of their own", kept: 120 << 20, objects: 50 << 20 / memoryPerByte},
		"cached at most":  {reason: "what is cached has so much room", objects: (maxCachedMemory - 1<<20) / memoryPerByte},
		"cached too much": {reason: "the hard limit has no room for more", objects: (maxCachedMemory + 1<<20) / memoryPerByte, want: reasonResident},
		"old and grown":   {reason: "one reason is enough", questions: maxQuestions, kept: 76 << 20, want: reasonAge},
		"objects, and it": {reason: "but no more than that", kept: 130 << 20, objects: 50 << 20 / memoryPerByte, want: reasonResident},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			w := &process{nearLimit: c.spent, budget: budget, memory: memoryUse{grown: c.kept}, caches: newWorkerCaches()}
			w.questions.Store(c.questions)
			w.caches.objects.bytes = c.objects
			if got := w.retireReason(); got != c.want {
				t.Errorf("retire reason %q, want %q", got, c.want)
			}
		})
	}
}

func TestScore(t *testing.T) {
	prog := &program{name: "p", memory: 64 << 20, largest: contentOf("library")}
	with := func(slot int, mapped int64, programs ...string) *process {
		w := &process{slot: slot, maxMemory: 64 << 20, caches: newWorkerCaches(), memory: memoryUse{mapped: mapped}}
		for _, name := range programs {
			w.caches.programs.add(name, 1)
		}
		return w
	}
	withText := func(w *process) *process {
		w.caches.texts.use(prog.largest, 0)
		return w
	}
	const home = 1
	most := prog.memory + reservedMemory(1) // With that a call of the program leaves it.
	// From worst to best.
	ranked := []*process{
		with(home, most+1, "p"), // It has more memory than the program may use.
		with(0, 0, "other"),
		withText(with(0, 0, "other")), // It has the largest file, of an earlier revision.
		with(0, most, "p"),
		with(home, 0),
		withText(with(home, 0)),
		with(home, 0, "p"),
	}
	for i, w := range ranked[1:] {
		if worse := ranked[i].score(prog, home); worse >= w.score(prog, home) {
			t.Errorf("worker %d fits with %d, the one before it with %d", i+1, w.score(prog, home), worse)
		}
	}
	if got := ranked[0].score(prog, home); got != unusable {
		t.Errorf("a worker with too much memory fits with %d", got)
	}
	if got := with(home, 0, "p").score(&program{name: "p", memory: 65 << 20}, home); got != unusable {
		t.Errorf("a worker that can't have the program's memory fits with %d", got)
	}
}
