package protocol

import (
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// Load asks the worker to compile a program and keep it.
type Load struct {
	// Evict lists programs to drop first, and EvictTexts the texts of files.
	Evict      []string
	EvictTexts []uint64
	Engine     string
	Hook       string
	// Files are those of Script, which is sent without them.
	Files  []File
	Script engines.Script
}

// File is a file of a script.
type File struct {
	Path string
	// ID names the text, which the worker keeps under it. Zero is the empty text: the program does not need this one.
	ID uint64
	// Known means that the worker has the text, and Text is empty.
	Known bool
	Text  string
	// Checked is as in engines.Script.
	Checked bool
}

// Append appends the encoded load. It comes after its Question.
func (l Load) Append(e *wire.Encoder) {
	e.Strings(l.Evict)
	e.Uint(uint64(len(l.EvictTexts)))
	for _, id := range l.EvictTexts {
		e.Uint(id)
	}
	AppendScript(e, l.Engine, l.Hook, l.Script)
	e.Uint(uint64(len(l.Files)))
	for _, f := range l.Files {
		e.String(f.Path)
		e.Uint(f.ID)
		e.Bool(f.Known)
		e.String(f.Text)
		e.Bool(f.Checked)
	}
}

// AppendScript appends everything that identifies a program but its files. If e.Sorted is set, equal sources have
// equal bytes.
func AppendScript(e *wire.Encoder, engine, hook string, s engines.Script) {
	e.Strings([]string{engine, hook, s.Path, s.Function, string(s.Signature)})
	e.Int(s.MemoryBytes)
	e.Bool(s.Coverage)
	e.Bool(s.Outline)
	e.Value(s.Parameters)
}

// ReadLoad decodes what Append wrote. The result shares no memory with the message, because the program
// keeps it.
func ReadLoad(d *wire.Decoder) (l Load, err error) {
	d.Copy = true
	if l.Evict, err = d.Strings(); err != nil {
		return l, err
	}
	n, err := count(d)
	for range n {
		id, err := d.Uint()
		if err != nil {
			return l, err
		}
		l.EvictTexts = append(l.EvictTexts, id)
	}
	if err != nil {
		return l, err
	}
	names, err := d.Strings()
	if err != nil || len(names) != 5 {
		return l, wire.ErrMalformed
	}
	l.Engine, l.Hook = names[0], names[1]
	l.Script.Path, l.Script.Function, l.Script.Signature = names[2], names[3], engines.Signature(names[4])
	if l.Script.MemoryBytes, err = d.Int(); err != nil {
		return l, err
	}
	if l.Script.Coverage, err = d.Bool(); err != nil {
		return l, err
	}
	if l.Script.Outline, err = d.Bool(); err != nil {
		return l, err
	}
	if l.Script.Parameters, err = d.Value(); err != nil {
		return l, err
	}
	l.Files, err = readFiles(d)
	return l, err
}

func readFiles(d *wire.Decoder) ([]File, error) {
	n, err := count(d)
	if err != nil {
		return nil, err
	}
	var files []File
	for range n {
		var f File
		if f.Path, err = d.String(); err != nil {
			return nil, err
		}
		if f.ID, err = d.Uint(); err != nil {
			return nil, err
		}
		if f.Known, err = d.Bool(); err != nil {
			return nil, err
		}
		if f.Text, err = d.String(); err != nil {
			return nil, err
		}
		if f.Checked, err = d.Bool(); err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// count reads how many elements follow, each of at least a byte.
func count(d *wire.Decoder) (uint64, error) {
	n, err := d.Uint()
	if err == nil && n > uint64(d.Len()) {
		err = wire.ErrMalformed
	}
	if err != nil {
		return 0, err
	}
	return n, nil
}
