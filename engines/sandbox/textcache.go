package sandbox

import (
	"container/list"
	"crypto/sha256"
	"unsafe"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
)

// maxUnusedTexts bounds the texts that a worker keeps although none of its programs needs them: the next hook of
// the same definition may.
const maxUnusedTexts = 16 << 20

// content is a hash of the text of a file.
type content [sha256.Size]byte

// sourceFile is a file of a program.
type sourceFile struct {
	path    string
	content content
}

// textCache tracks which texts of files a worker has, so that they are not sent again: most programs of a definition, and
// most revisions of a program, have most of their files in common.
type textCache struct {
	byContent map[content]*cachedText
	unused    *list.List // Of *cachedText. The one used last is in front.
	lastID    uint64
	// usedBytes are of texts that programs need, unusedBytes of others.
	usedBytes, unusedBytes int64
}

type cachedText struct {
	id      uint64
	content content
	bytes   int64
	// users is how many programs need it, of those that the worker has or is being sent. If there is none, it is at.
	users int
	at    *list.Element
}

func newTextCache() textCache {
	return textCache{byContent: map[content]*cachedText{}, unused: list.New()}
}

func (c *textCache) memory() int64 { return c.usedBytes + c.unusedBytes }

func (c *textCache) has(text content) bool { return c.byContent[text] != nil }

// use returns the text with that content, for one more program, and whether the worker has it already.
func (c *textCache) use(of content, bytes int64) (text *cachedText, known bool) {
	text, known = c.byContent[of]
	if !known {
		c.lastID++
		text = &cachedText{id: c.lastID, content: of, bytes: bytes}
		c.byContent[of] = text
	}
	if text.at != nil {
		c.unused.Remove(text.at)
		text.at = nil
		c.unusedBytes -= text.bytes
	}
	if text.users == 0 {
		c.usedBytes += text.bytes
	}
	text.users++
	return text, known
}

// release is called for each text that a program needed, or was sent, and does not need any more.
func (c *textCache) release(text *cachedText) {
	if text.users--; text.users > 0 {
		return
	}
	c.usedBytes -= text.bytes
	c.unusedBytes += text.bytes
	text.at = c.unused.PushFront(text)
}

// evict removes texts that no program needs until the others are few enough, and returns their IDs.
func (c *textCache) evict() []uint64 {
	var ids []uint64
	for c.unusedBytes > maxUnusedTexts {
		oldest := c.unused.Remove(c.unused.Back()).(*cachedText)
		delete(c.byContent, oldest.content)
		c.unusedBytes -= oldest.bytes
		ids = append(ids, oldest.id)
	}
	return ids
}

// share returns how to send the files of a program, and their texts by path. The texts have one more user.
func (c *textCache) share(prog *program, checked func(content) bool) ([]protocol.File, map[string]*cachedText) {
	files := make([]protocol.File, 0, len(prog.files))
	texts := make(map[string]*cachedText, len(prog.files))
	for _, f := range prog.files {
		file := protocol.File{Path: f.path, Checked: checked(f.content)}
		if prog.uses(f.path) {
			text := prog.script.Files[f.path]
			cached, known := c.use(f.content, int64(len(text)))
			texts[f.path] = cached
			if file.ID, file.Known = cached.id, known; !known {
				file.Text = text
			}
		}
		files = append(files, file)
	}
	return files, texts
}

// usedFiles are the files that a program consists of.
type usedFiles struct {
	files []engines.UsedFile
	paths map[string]bool
}

// setUsed keeps which files the program consists of, as the worker that compiled it reports. All others are not sent again.
func (p *program) setUsed(files []engines.UsedFile) {
	if files == nil || p.script.Coverage {
		return // Coverage counts all files.
	}
	named := make(map[string]engines.UsedFile, len(files))
	for _, f := range files {
		named[f.Path] = f
	}
	used := &usedFiles{files: []engines.UsedFile{}, paths: map[string]bool{}}
	for _, own := range p.files { // The worker may name anything, and as often as it likes.
		if f, ok := named[own.path]; ok {
			used.files, used.paths[own.path] = append(used.files, engines.UsedFile{Path: own.path, Checked: f.Checked}), true
		}
	}
	p.used.CompareAndSwap(nil, used)
}

// uses reports whether the program needs a file.
func (p *program) uses(path string) bool {
	used := p.used.Load()
	return used == nil || used.paths[path]
}

// Files returns the files that the worker which compiled the program named.
func (p *program) Files() []engines.UsedFile {
	if used := p.used.Load(); used != nil {
		return used.files
	}
	return nil
}

// contentOf returns the hash of a text.
func contentOf(text string) content {
	return sha256.Sum256(unsafe.Slice(unsafe.StringData(text), len(text))) // It reads only.
}
