package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"
)

// entry is a file of an archive or of the image: with text, with what a file holds, a link, or a folder if its name ends with a slash.
type entry struct {
	name       string
	mode       int64
	text       []byte
	path, link string
}

// writeTar writes entries that are all of that time, and nobody's.
func writeTar(w io.Writer, at time.Time, entries []entry) error {
	files := tar.NewWriter(w)
	for _, e := range entries {
		text := e.text
		if e.path != "" {
			var err error
			if text, err = os.ReadFile(e.path); err != nil {
				return err
			}
		}
		header := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(text)), Linkname: e.link, ModTime: at, Format: tar.FormatUSTAR}
		switch {
		case e.link != "":
			header.Typeflag = tar.TypeSymlink
		case strings.HasSuffix(e.name, "/"):
			header.Typeflag = tar.TypeDir
		}
		if err := files.WriteHeader(header); err != nil {
			return err
		}
		if _, err := files.Write(text); err != nil {
			return err
		}
	}
	return files.Close()
}

// compress returns entries as a .tar.gz.
func compress(at time.Time, entries []entry) ([]byte, error) {
	var text bytes.Buffer
	zipped := gzip.NewWriter(&text)
	if err := writeTar(zipped, at, entries); err != nil {
		return nil, err
	}
	err := zipped.Close()
	return text.Bytes(), err
}

// archive is one archive, as the manifest of the krew plugin names it.
type archive struct {
	platform
	Name, SHA256 string
}

// pack writes all files of a release but the image to a folder: the manifests to install are one of them, and the checksums the last.
func pack(version string, c commit, programs, folder, root string, platforms []platform, install []byte) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	sums := ""
	add := func(name string, text []byte) (string, error) {
		sum := fmt.Sprintf("%x", sha256.Sum256(text))
		sums += sum + "  " + name + "\n"
		return sum, os.WriteFile(filepath.Join(folder, name), text, 0o644)
	}
	var archives []archive
	for _, p := range platforms {
		a, err := packPlatform(version, c, p, p.folder(programs), add)
		if err != nil {
			return err
		}
		archives = append(archives, a)
	}
	manifest, err := fill(version, archives, filepath.Join(root, krewManifest))
	if err != nil {
		return err
	}
	if _, err := add(filepath.Base(krewManifest), manifest); err != nil {
		return err
	}
	if _, err := add("install.yaml", install); err != nil {
		return err
	}
	if err := packChart(version, filepath.Join(root, chartFolder), add); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "SHA256SUMS"), []byte(sums), 0o644)
}

// packPlatform adds the archive and the SBOM of a platform.
func packPlatform(version string, c commit, p platform, folder string, add func(string, []byte) (string, error)) (archive, error) {
	var entries []entry
	for _, name := range names {
		entries = append(entries, entry{name: name, mode: 0o755, path: filepath.Join(folder, name)})
	}
	text, err := compress(c.time, append(entries, licenseEntries(folder, "")...))
	if err != nil {
		return archive{}, err
	}
	name := fmt.Sprintf("libretto_%s_%s_%s", version, p.OS, p.Arch)
	a := archive{platform: p, Name: name + ".tar.gz"}
	if a.SHA256, err = add(a.Name, text); err != nil {
		return a, err
	}
	bill, err := sbomOf(version, c, folder)
	if err != nil {
		return a, err
	}
	_, err = add(name+".cdx.json", bill)
	return a, err
}

// fill returns the manifest of the krew plugin, with the archives.
func fill(version string, archives []archive, from string) ([]byte, error) {
	source, err := template.ParseFiles(from)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := source.Execute(&text, map[string]any{"Version": version, "Archives": archives}); err != nil {
		return nil, err
	}
	// The first line says that it is a template.
	_, rest, _ := bytes.Cut(text.Bytes(), []byte("\n"))
	return rest, nil
}
