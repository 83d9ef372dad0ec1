package parent

import (
	"maps"
	"slices"
	"strings"

	"github.com/libretto-k8s/libretto/apply"
)

const (
	// childLevel is the log verbosity at which each written child is logged.
	childLevel = 1
	// diffLevel is the log verbosity at which changed values are logged. Secret values are masked.
	diffLevel = 4
)

// logChild counts a written child for logWrites, and logs it if it is to be seen.
func (p *pass) logChild(change apply.Change) {
	if p.writes.counts == nil {
		p.writes.counts = map[apply.Action]int{}
	}
	p.writes.counts[change.Action]++
	if log := p.env.Log.V(childLevel); log.Enabled() {
		log.Info("child written", "definition", p.config.Definition, "parent", p.key.String(),
			"action", string(change.Action), "child", change.Key.String())
	}
	if log := p.env.Log.V(diffLevel); log.Enabled() && isRewrite(change) {
		masker := p.masker()
		for _, diff := range change.Diffs() {
			log.Info("field of the child", "child", change.Key.String(), "change", masker.Mask(diff.String()))
		}
	}
}

// logWrites logs in one line how many children the pass has written, by action.
func (p *pass) logWrites() {
	if len(p.writes.counts) == 0 || !p.env.Log.Enabled() {
		return
	}
	values := []any{"definition", p.config.Definition, "parent", p.key.String()}
	for _, action := range slices.Sorted(maps.Keys(p.writes.counts)) {
		values = append(values, strings.ToLower(string(action)), p.writes.counts[action])
	}
	p.env.Log.Info("children written", values...)
}
