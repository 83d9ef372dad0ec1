package sandbox

import "slices"

const (
	// maxPrograms and maxProgramMemory bound the programs that a worker keeps: their number, and their
	// memory in bytes, with the texts of their files. The program that was loaded last is always kept.
	maxPrograms      = 64
	maxProgramMemory = 96 << 20
)

// programCache tracks which programs a worker has, so that they are not sent again. The one used last is at
// the end.
type programCache struct {
	names  []string
	sizes  map[string]int64
	texts  map[string][]*cachedText
	memory int64
}

func newProgramCache() programCache {
	return programCache{sizes: map[string]int64{}, texts: map[string][]*cachedText{}}
}

func (s *programCache) has(name string) bool {
	_, ok := s.sizes[name]
	return ok
}

// use moves a program to the end.
func (s *programCache) use(name string) {
	if at := slices.Index(s.names, name); at >= 0 {
		s.names = append(slices.Delete(s.names, at, at+1), name)
	}
}

// evict removes programs until there is room for one more, releases their texts, and returns their names.
func (s *programCache) evict(texts *textCache) []string {
	var out []string
	for len(s.names) > 0 && (len(s.names) >= maxPrograms || s.memory+texts.usedBytes > maxProgramMemory) {
		oldest := s.names[0]
		s.names = s.names[1:]
		s.memory -= s.sizes[oldest]
		delete(s.sizes, oldest)
		for _, text := range s.texts[oldest] {
			texts.release(text)
		}
		delete(s.texts, oldest)
		out = append(out, oldest)
	}
	return out
}

// add puts a program at the end. A program that is there already keeps its memory figure.
func (s *programCache) add(name string, memory int64) {
	if s.has(name) {
		s.use(name)
		return
	}
	s.names = append(s.names, name)
	s.sizes[name] = memory
	s.memory += memory
}

// addText notes that a program needs a text.
func (s *programCache) addText(name string, text *cachedText) {
	s.texts[name] = append(s.texts[name], text)
}
