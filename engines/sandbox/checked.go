package sandbox

import (
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/lru"
)

const (
	// maxCheckedBytes bounds what the host keeps of files that were checked, and checkedBytes is about what it takes for one.
	maxCheckedBytes = 16 << 20
	checkedBytes    = 256
)

// checkedKey is the key of a file that was checked. Only scripts of the same trust domain have it: a worker that somebody
// has taken over can claim anything.
func checkedKey(prog *program, of content) lru.Key {
	return lru.Key{Owner: prog.domain, Group: prog.engine, ID: of}
}

// isChecked reports whether a worker has checked a file with that content.
func (p *Pool) isChecked(prog *program, of content) bool {
	_, ok := p.checked.Get(checkedKey(prog, of))
	return ok
}

// setChecked keeps which files of a program were checked.
func (p *Pool) setChecked(prog *program, files []engines.UsedFile) {
	checked := make(map[string]bool, len(files))
	for _, f := range files {
		checked[f.Path] = f.Checked
	}
	for _, f := range prog.files {
		if checked[f.path] {
			p.checked.Put(checkedKey(prog, f.content), true, checkedBytes)
		}
	}
}
