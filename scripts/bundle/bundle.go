// Package bundle packs the files of scripts into one key of a ConfigMap, and unpacks them within limits: who may write the ConfigMap is
// not trusted.
package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/libretto-k8s/libretto/engines"
)

// Key is the key of the archive in binaryData of a ConfigMap. It is a tar archive, compressed with gzip.
const Key = "bundle.tar.gz"

// Limits on what an archive holds. They are those of the files of a definition.
const (
	MaxBytes = engines.MaxSourceBytes
	MaxFiles = 10_000
	// maxPath bounds a path.
	maxPath = 1024
	// maxExpanded bounds the archive without compression: a file has a header, which is longer for a long path, and is padded.
	maxExpanded = MaxBytes + MaxFiles*(4<<10) + 64<<10
)

// Pack returns an archive of files, by their slash-separated paths. The same files are the same bytes.
func Pack(files map[string]string) ([]byte, error) {
	if err := check(files); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(compressed)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(files[name])), Mode: 0o644}
		if err := archive.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if _, err := io.WriteString(archive, files[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := errors.Join(archive.Close(), compressed.Close()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func check(files map[string]string) error {
	if len(files) > MaxFiles {
		return fmt.Errorf("there are %d files, more than %d", len(files), MaxFiles)
	}
	size := 0
	for name, text := range files {
		if err := checkPath(name); err != nil {
			return err
		}
		size += len(text)
	}
	if size > MaxBytes {
		return fmt.Errorf("the files have %d KiB together, more than %d MiB", size>>10, MaxBytes>>20)
	}
	return nil
}

func checkPath(name string) error {
	bad := func(r rune) bool { return r == '\\' || unicode.IsControl(r) }
	if name == "." || !fs.ValidPath(name) || len(name) > maxPath || strings.ContainsFunc(name, bad) {
		return fmt.Errorf("%.200q is no path of a file: it must be relative, with slashes, "+
			"and without control characters and empty, . and .. elements", name)
	}
	return nil
}

// ErrTooLarge is why an archive has more than it may have beside others, and not by itself.
var ErrTooLarge = fmt.Errorf("with those of the archives before it, its files have more than %d MiB together", MaxBytes>>20)

// Unpack returns the files of an archive. It is an error if there are more or larger ones than the limits allow, if a path leaves the
// folder or is there twice, and if an entry is no regular file. No more is read than the limits allow.
func Unpack(packed string) (map[string]string, error) { return UnpackWithin(packed, MaxBytes) }

// UnpackWithin is Unpack for files with at most that many bytes together: more is ErrTooLarge.
func UnpackWithin(packed string, most int) (map[string]string, error) {
	return unpack(packed, most, func(name string) (string, bool) { return name, true })
}

// UnpackSelected is Unpack for a part of an archive that others have made: selected returns the path of an entry, or false for one that
// is left out, whatever it is. Such entries count as what is expanded alone.
func UnpackSelected(packed string, selected func(name string) (string, bool)) (map[string]string, error) {
	return unpack(packed, MaxBytes, selected)
}

func unpack(packed string, most int, selected func(string) (string, bool)) (map[string]string, error) {
	compressed, err := gzip.NewReader(strings.NewReader(packed))
	if err != nil {
		return nil, err
	}
	limited := &io.LimitedReader{R: compressed, N: maxExpanded + 1}
	archive := tar.NewReader(limited)
	files, left, beside := map[string]string{}, min(most, MaxBytes), max(0, MaxBytes-most)
	buffer := make([]byte, 32<<10)
	for {
		header, err := archive.Next()
		switch {
		case limited.N <= 0:
			return nil, fmt.Errorf("it has more than %d KiB when it is expanded", maxExpanded>>10)
		case errors.Is(err, io.EOF):
			return files, verify(limited)
		case err != nil:
			return nil, err
		case header.Typeflag == tar.TypeDir, header.Typeflag == tar.TypeXGlobalHeader:
			continue
		}
		name, taken := selected(header.Name)
		switch {
		case !taken:
			continue
		case header.Typeflag != tar.TypeReg:
			return nil, fmt.Errorf("%.200q is no regular file", header.Name)
		}
		if err := checkPath(name); err != nil {
			return nil, err
		}
		if _, twice := files[name]; twice {
			return nil, fmt.Errorf("%.200q is there twice", header.Name)
		}
		if len(files) >= MaxFiles {
			return nil, fmt.Errorf("it has more than %d files", MaxFiles)
		}
		if header.Size > int64(left) && header.Size <= int64(left+beside) {
			return nil, ErrTooLarge
		}
		if header.Size > int64(left) {
			return nil, fmt.Errorf("from %.200q on, its files have more than %d MiB together", header.Name, MaxBytes>>20)
		}
		var text strings.Builder
		text.Grow(int(header.Size)) // No more than what is left.
		if _, err := io.CopyBuffer(&text, struct{ io.Reader }{archive}, buffer); err != nil {
			return nil, fmt.Errorf("%.200q: %w", header.Name, err)
		}
		left -= text.Len()
		files[name] = text.String()
	}
}

// verify reads to the end, where the checksum is.
func verify(rest *io.LimitedReader) error {
	_, err := io.Copy(io.Discard, rest)
	if err == nil && rest.N <= 0 {
		err = fmt.Errorf("it has more than %d KiB when it is expanded", maxExpanded>>10)
	}
	return err
}

// Expand returns the files of a ConfigMap, by key or, those of an archive, by path. It returns data itself if there is no archive.
// unpack does what Unpack does, and may remember results.
func Expand(data map[string]string, unpack func(packed string) (map[string]string, error)) (map[string]string, error) {
	packed, there := data[Key]
	if !there {
		return data, nil
	}
	archived, err := unpack(packed)
	if err != nil {
		return nil, err
	}
	if len(data) == 1 {
		return archived, nil
	}
	files := maps.Clone(archived)
	for key, text := range data {
		if _, taken := files[key]; taken {
			return nil, fmt.Errorf("%q is in the archive, and a key beside it", key)
		}
		if key != Key {
			files[key] = text
		}
	}
	return files, nil
}

// Hash returns the end of the name of a ConfigMap with an archive. Other contents have another one.
func Hash(packed []byte) string {
	sum := sha256.Sum256(packed)
	return hex.EncodeToString(sum[:])[:10]
}
