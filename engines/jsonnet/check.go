package jsonnet

import (
	"context"
	"runtime"
	"sync"

	"github.com/libretto-k8s/libretto/engines"
)

const (
	// maxParsers bounds how many files are parsed at once.
	maxParsers = 4
	// largeFile is the size of a file from which it is parsed alone: the parser takes about 200 times as much memory for a while.
	largeFile = 256 << 10
)

// checker parses files to see whether they do. The result is dropped if it is large: a library has much more than a hook evaluates, and
// what is kept costs time with each collection of garbage.
type checker struct {
	linked *linked
	ctx    context.Context
	paths  []string
	alone  sync.RWMutex

	mu   sync.Mutex // Guards the fields below.
	next int
	// err is the error of the first of the files that has one, which is that at failed.
	err    error
	failed int
	// parsed are the files so far, while they take no more than maxKeptByLoad: bytes is what they take.
	parsed map[string]*parsed
	bytes  int64
}

// check parses files, several at once, and returns the error of the first that can't be parsed. What it has parsed by then is not
// parsed again by the next load.
func (l *linked) check(ctx context.Context, paths []string) error {
	c := &checker{linked: l, ctx: ctx, paths: paths, parsed: map[string]*parsed{}}
	var group sync.WaitGroup
	for range min(maxParsers, runtime.GOMAXPROCS(0), len(paths)) {
		group.Go(func() {
			for at, ok := c.take(); ok; at, ok = c.take() {
				c.checkFile(at)
			}
		})
	}
	group.Wait()
	for path, file := range c.parsed {
		l.cache.parsed.Put(l.files[path], file, file.bytes)
	}
	return c.err
}

// take returns the next file, and false if there is none, or none is needed.
func (c *checker) take() (int, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil && c.ctx.Err() != nil {
		c.err = engines.Ended(c.ctx)
	}
	if c.err != nil || c.next == len(c.paths) {
		return 0, false
	}
	c.next++
	return c.next - 1, true
}

func (c *checker) checkFile(at int) {
	l, path := c.linked, c.paths[at]
	text := l.tree.text(path)
	if len(text) >= largeFile {
		c.alone.Lock()
		defer c.alone.Unlock()
	} else {
		c.alone.RLock()
		defer c.alone.RUnlock()
	}
	file, err := parseFile(path, text, nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		if c.err == nil || at < c.failed {
			c.err, c.failed = err, at
		}
		return
	}
	l.cache.putKnown(l.files[path], known{imports: file.imports, checked: true})
	if c.bytes += file.bytes; c.bytes > maxKeptByLoad {
		clear(c.parsed)
		return
	}
	c.parsed[path] = file
}
