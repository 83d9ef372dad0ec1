package sandbox

import "time"

// endIdleLater has workers that stay idle ended, unless that is scheduled.
func (p *Pool) endIdleLater() {
	if p.endsIdleLater || p.closed {
		return
	}
	p.endsIdleLater = true
	time.AfterFunc(p.config.IdleTimeout, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.endsIdleLater = false
		idle, more := p.idleFor(p.config.IdleTimeout, time.Now())
		for _, w := range idle {
			p.processes[w] = false
			w.kill(reasonIdle)
		}
		if more {
			p.endIdleLater()
		}
	})
}

// idleFor returns the workers that have been idle for that long since their last call, and whether others may be later. The one that was
// used last is not among them: it stays for the next call, with its programs. Nor is the spare one.
func (p *Pool) idleFor(timeout time.Duration, now time.Time) (idle []*process, more bool) {
	var last *process
	for w := range p.processes {
		if last == nil || w.idleSince.After(last.idleSince) {
			last = w
		}
	}
	for w, isIdle := range p.processes {
		switch {
		case w == last || isIdle && w.idleSince.IsZero():
		case isIdle && now.Sub(w.idleSince) >= timeout:
			idle = append(idle, w)
		default:
			more = true
		}
	}
	return idle, more
}
