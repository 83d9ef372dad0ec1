package protocol

import (
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// maxUsed bounds the files that a program consists of. Of one with more it is not known which these are.
const maxUsed = 1 << 14

// appendUsed appends the files that a program consists of: their paths, and then which of them are checked.
func appendUsed(e *wire.Encoder, files []engines.UsedFile) {
	if len(files) > maxUsed {
		files = nil
	}
	paths, checked := make([]string, len(files)), make([]byte, len(files))
	for i, f := range files {
		paths[i] = f.Path
		if f.Checked {
			checked[i] = 1
		}
	}
	e.Bool(files != nil)
	e.Strings(paths)
	e.String(string(checked))
}

// readUsed decodes what appendUsed wrote.
func readUsed(d *wire.Decoder) ([]engines.UsedFile, error) {
	known, err := d.Bool()
	if err != nil {
		return nil, err
	}
	paths, err := d.Strings()
	if err != nil {
		return nil, err
	}
	checked, err := d.String()
	if err != nil {
		return nil, err
	}
	if len(checked) != len(paths) || len(paths) > maxUsed {
		return nil, wire.ErrMalformed
	}
	if !known {
		return nil, nil
	}
	files := make([]engines.UsedFile, len(paths))
	for i := range files {
		files[i] = engines.UsedFile{Path: paths[i], Checked: checked[i] != 0}
	}
	return files, nil
}
