package sandbox

import "slices"

const (
	// shelfPrograms and shelfBytes bound the programs that a worker keeps, and their sources.
	shelfPrograms = 64
	shelfBytes    = 8 << 20
)

// shelf is which programs a worker has, the one used last at the end.
type shelf struct {
	names []string
	sizes map[string]int
	bytes int
}

func newShelf() shelf { return shelf{sizes: map[string]int{}} }

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

// room takes programs out until one more of that size fits, and gives their names.
func (s *shelf) room(bytes int) []string {
	var out []string
	for len(s.names) > 0 && (len(s.names) >= shelfPrograms || s.bytes+bytes > shelfBytes) {
		oldest := s.names[0]
		s.names = s.names[1:]
		s.bytes -= s.sizes[oldest]
		delete(s.sizes, oldest)
		out = append(out, oldest)
	}
	return out
}

func (s *shelf) add(name string, bytes int) {
	if s.has(name) {
		s.use(name)
		return
	}
	s.names = append(s.names, name)
	s.sizes[name] = bytes
	s.bytes += bytes
}
