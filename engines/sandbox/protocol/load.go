package protocol

import (
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// Load asks the worker to compile a program and keep it.
type Load struct {
	// Evict lists programs to drop first.
	Evict  []string
	Engine string
	Hook   string
	Script engines.Script
}

// Append appends the encoded load. It comes after its Question.
func (l Load) Append(e *wire.Encoder) {
	e.Strings(l.Evict)
	AppendSource(e, l.Engine, l.Hook, l.Script)
}

// AppendSource appends everything that identifies a program. If e.Sorted is set, equal sources have
// equal bytes.
func AppendSource(e *wire.Encoder, engine, hook string, s engines.Script) {
	files := make(map[string]any, len(s.Files))
	for path, text := range s.Files {
		files[path] = text
	}
	e.Strings([]string{engine, hook, s.Path, s.Function, string(s.Signature)})
	e.Value(files)
	e.Int(s.MemoryBytes)
	e.Bool(s.Coverage)
	e.Value(s.Parameters)
}

// ReadLoad decodes what Append wrote. The result shares no memory with the message, because the program
// keeps it.
func ReadLoad(d *wire.Decoder) (l Load, err error) {
	d.Copy = true
	if l.Evict, err = d.Strings(); err != nil {
		return l, err
	}
	names, err := d.Strings()
	if err != nil || len(names) != 5 {
		return l, wire.ErrMalformed
	}
	l.Engine, l.Hook = names[0], names[1]
	l.Script.Path, l.Script.Function, l.Script.Signature = names[2], names[3], engines.Signature(names[4])
	if l.Script.Files, err = readFiles(d); err != nil {
		return l, err
	}
	if l.Script.MemoryBytes, err = d.Int(); err != nil {
		return l, err
	}
	if l.Script.Coverage, err = d.Bool(); err != nil {
		return l, err
	}
	l.Script.Parameters, err = d.Value()
	return l, err
}

func readFiles(d *wire.Decoder) (map[string]string, error) {
	v, err := d.Value()
	if err != nil {
		return nil, err
	}
	texts, ok := v.(map[string]any)
	if !ok {
		return nil, wire.ErrMalformed
	}
	files := make(map[string]string, len(texts))
	for path, text := range texts {
		if files[path], ok = text.(string); !ok {
			return nil, wire.ErrMalformed
		}
	}
	return files, nil
}
