package archive

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const (
	// plainBytes is the size up to which files are not compressed, so that they can be read and compared.
	plainBytes = 256 << 10
	// mostBytes leaves room for the rest of an object: etcd takes 1.5 MiB.
	mostBytes = 5 << 18
	// mostUnpacked bounds the decompressed size of a small object, and maxFiles the number of files in it:
	// a file takes more memory than the eight bytes that it may have in JSON.
	mostUnpacked = 8 << 20
	maxFiles     = 10000
)

// content is the data of a ControllerRevision. At most one of Files, Gzip and Parts is set, and at most one of Hooks and HookParts.
type content struct {
	Files map[string]string `json:"files,omitempty"`
	// Gzip is the same in JSON, compressed; JSON has it in base64.
	Gzip []byte `json:"gzip,omitempty"`
	// Parts are the sums of the parts that have the files together, in this order: a file that is cut goes on in the next part.
	Parts []string `json:"parts,omitempty"`
	// Hooks are the settings of the hooks.
	Hooks json.RawMessage `json:"hooks,omitempty"`
	// HookParts are the sums of the parts that have the settings of the hooks, as one file, if they are large.
	HookParts []string `json:"hookParts,omitempty"`
}

// hooksFile is the name of that file.
const hooksFile = "hooks.json"

// encode returns the data of a ControllerRevision with those files and hooks, and the parts that have to be there first.
func encode(r Revision) ([]byte, []part, error) {
	parts, err := partsOfFiles(r.Files)
	if err != nil {
		return nil, nil, err
	}
	var c content
	if parts == nil {
		c.Files = r.Files
	} else {
		c.Parts = sumsOf(parts)
	}
	if len(r.Hooks) <= plainBytes {
		c.Hooks = r.Hooks
	} else {
		more := split(map[string]string{hooksFile: string(r.Hooks)})
		c.HookParts = sumsOf(more)
		parts = append(parts, more...)
	}
	data, err := json.Marshal(c)
	return data, parts, err
}

// partsOfFiles returns the parts of files, or nil if these are small.
func partsOfFiles(files map[string]string) ([]part, error) {
	if size(files) <= plainBytes {
		if plain, err := json.Marshal(content{Files: files}); err != nil || len(plain) <= plainBytes {
			return nil, err
		}
	}
	return split(files), nil
}

func size(files map[string]string) int {
	n := 0
	for path, text := range files {
		n += len(path) + len(text)
	}
	return n
}

// encodePacked returns the data of a ControllerRevision with those files, compressed.
func encodePacked(files map[string]string) ([]byte, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	if err := errors.Join(encoder.Encode(files), w.Close()); err != nil {
		return nil, err
	}
	data, err := json.Marshal(content{Gzip: packed.Bytes()})
	if err == nil && len(data) > mostBytes {
		err = fmt.Errorf("too large to be kept: %d KiB when compressed, and a ControllerRevision takes %d", len(data)>>10, mostBytes>>10)
	}
	return data, err
}

// decode returns the files, or the parts, that are in the data of a ControllerRevision.
func decode(data []byte) (content, error) {
	var c content
	if err := json.Unmarshal(data, &c); err != nil {
		return content{}, err
	}
	if c.Gzip == nil {
		return c, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(c.Gzip))
	if err != nil {
		return content{}, err
	}
	plain, err := io.ReadAll(io.LimitReader(r, mostUnpacked+1))
	if err != nil {
		return content{}, err
	}
	if len(plain) > mostUnpacked {
		return content{}, fmt.Errorf("unfolds to more than %d MiB", mostUnpacked>>20)
	}
	if c.Files, err = readFiles(plain); err != nil {
		return content{}, err
	}
	c.Gzip = nil
	return c, nil
}

// readFiles decodes an object of texts, unless it has too many.
func readFiles(plain []byte) (map[string]string, error) {
	d := json.NewDecoder(bytes.NewReader(plain))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil, errors.Join(err, errors.New("unfolds to no JSON object of files"))
	}
	files := map[string]string{}
	for d.More() {
		path, err := d.Token()
		if err != nil {
			return nil, err
		}
		var text string
		if err := d.Decode(&text); err != nil {
			return nil, err
		}
		if files[path.(string)] = text; len(files) > maxFiles {
			return nil, fmt.Errorf("unfolds to more than %d files", maxFiles)
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errors.New("has more after the files")
	}
	return files, nil
}
