// Command release packs the archives of a release, and fills the manifest of the krew plugin in with their checksums.
//
//	release check VERSION
//	release pack VERSION DIRECTORY MANIFEST OS/ARCH...
//
// The programs of a platform are in DIRECTORY/OS/ARCH. The archives and the manifest are written to DIRECTORY. The same files
// make the same archives, byte for byte.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// semantic is the pattern of versions: krew wants the v.
var semantic = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

// contents are the files of an archive, and their modes.
var contents = []struct {
	name string
	mode int64
}{{"libretto", 0o755}, {"libretto-worker", 0o755}, {"LICENSE", 0o644}}

// archive is one archive.
type archive struct{ OS, Arch, Name, SHA256 string }

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "check":
		return checkVersion(args[1])
	case len(args) > 4 && args[0] == "pack":
		return pack(args[1], args[2], args[3], args[4:])
	default:
		return errors.New("write release check VERSION, or release pack VERSION DIRECTORY MANIFEST OS/ARCH, with any number of OS/ARCH")
	}
}

func checkVersion(version string) error {
	if !semantic.MatchString(version) {
		return fmt.Errorf("%q is no version of a release: write one like VERSION=v1.2.3", version)
	}
	return nil
}

func pack(version, directory, manifest string, platforms []string) error {
	if err := checkVersion(version); err != nil {
		return err
	}
	var archives []archive
	for _, platform := range platforms {
		system, arch, found := strings.Cut(platform, "/")
		if !found {
			return fmt.Errorf("platform %q: write OS/ARCH", platform)
		}
		a := archive{OS: system, Arch: arch, Name: fmt.Sprintf("libretto_%s_%s_%s.tar.gz", version, system, arch)}
		text, err := compress(filepath.Join(directory, system, arch))
		if err != nil {
			return err
		}
		a.SHA256 = fmt.Sprintf("%x", sha256.Sum256(text))
		if err := os.WriteFile(filepath.Join(directory, a.Name), text, 0o644); err != nil {
			return err
		}
		archives = append(archives, a)
	}
	return fill(version, archives, manifest, filepath.Join(directory, filepath.Base(manifest)))
}

// compress returns the archive of a folder.
func compress(folder string) ([]byte, error) {
	var text bytes.Buffer
	zipped := gzip.NewWriter(&text)
	files := tar.NewWriter(zipped)
	for _, entry := range contents {
		data, err := os.ReadFile(filepath.Join(folder, entry.name))
		if err != nil {
			return nil, err
		}
		header := &tar.Header{Name: entry.name, Mode: entry.mode, Size: int64(len(data)), Format: tar.FormatUSTAR}
		if err := files.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := files.Write(data); err != nil {
			return nil, err
		}
	}
	if err := files.Close(); err != nil {
		return nil, err
	}
	err := zipped.Close()
	return text.Bytes(), err
}

// fill writes the manifest.
func fill(version string, archives []archive, from, to string) error {
	source, err := template.ParseFiles(from)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := source.Execute(&text, map[string]any{"Version": version, "Archives": archives}); err != nil {
		return err
	}
	// The first line says that it is a template.
	_, rest, _ := strings.Cut(text.String(), "\n")
	return os.WriteFile(to, []byte(rest), 0o644)
}
