package sandbox

import "slices"

const (
	// shelfPrograms and shelfMemory bound the programs that a worker keeps, and what
	// they take there, in bytes. The one that was loaded last stays in any case.
	shelfPrograms = 64
	shelfMemory   = 96 << 20
)

// shelf is which programs a worker has, the one used last at the end.
type shelf struct {
	names  []string
	sizes  map[string]int64
	memory int64
}

func newShelf() shelf { return shelf{sizes: map[string]int64{}} }

func (s *shelf) has(name string) bool {
	_, ok := s.sizes[name]
	return ok
}

// use moves a program to the end.
func (s *shelf) use(name string) {
	if at := slices.Index(s.names, name); at >= 0 {
		s.names = append(slices.Delete(s.names, at, at+1), name)
	}
}

// room takes programs out until one more may come, and gives their names.
func (s *shelf) room() []string {
	var out []string
	for len(s.names) > 0 && (len(s.names) >= shelfPrograms || s.memory > shelfMemory) {
		oldest := s.names[0]
		s.names = s.names[1:]
		s.memory -= s.sizes[oldest]
		delete(s.sizes, oldest)
		out = append(out, oldest)
	}
	return out
}

// add puts a program at the end that takes so much memory. One that is there already
// takes what it took.
func (s *shelf) add(name string, memory int64) {
	if s.has(name) {
		s.use(name)
		return
	}
	s.names = append(s.names, name)
	s.sizes[name] = memory
	s.memory += memory
}
