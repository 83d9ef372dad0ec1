package scripts

import (
	"errors"
	"sync"

	"github.com/libretto-k8s/libretto/runtime/watchset/objectwatch"
	"github.com/libretto-k8s/libretto/scripts/bundle"
)

// expansions hold what the archives of ConfigMaps expand to, each once for all trees that use the ConfigMap: the files of an archive
// take much more memory and time than the archive.
type expansions struct {
	mu     sync.Mutex
	byName map[objectwatch.Name]*expansion
}

// expansion is the archive of one ConfigMap.
type expansion struct {
	all   *expansions
	name  objectwatch.Name
	users int // belongs to all

	mu     sync.Mutex
	read   bool // whether there is an archive of which the rest is known
	packed string
	files  map[string]string
	err    error
	size   int // of files
	// refused is the most that was too little for the files, or zero.
	refused int
}

func (e *expansions) open(name objectwatch.Name) *expansion {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.byName == nil {
		e.byName = map[objectwatch.Name]*expansion{}
	}
	x := e.byName[name]
	if x == nil {
		x = &expansion{all: e, name: name}
		e.byName[name] = x
	}
	x.users++
	return x
}

// close ends one use. With the last one nothing is held.
func (x *expansion) close() {
	x.all.mu.Lock()
	defer x.all.mu.Unlock()
	if x.users--; x.users == 0 {
		delete(x.all.byName, x.name)
	}
}

// unpack returns what bundle.UnpackWithin returns. The result must not be changed.
func (x *expansion) unpack(packed string, most int) (map[string]string, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	known := x.read && x.packed == packed
	switch {
	case known && x.err == nil && x.size > most, known && most <= x.refused:
		return nil, bundle.ErrTooLarge
	case known && x.refused == 0:
		return x.files, x.err
	}
	x.files, x.err = bundle.UnpackWithin(packed, most)
	x.packed, x.read, x.size, x.refused = packed, true, sizeOf(x.files), 0
	if errors.Is(x.err, bundle.ErrTooLarge) {
		x.refused = most
	}
	return x.files, x.err
}

func sizeOf(files map[string]string) int {
	n := 0
	for _, text := range files {
		n += len(text)
	}
	return n
}
