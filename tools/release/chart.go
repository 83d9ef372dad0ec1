package main

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// packChart adds the archive of the chart in a folder, if there is one, with the version of the release as its own and that of the program.
func packChart(version, folder string, add func(string, []byte) (string, error)) error {
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	const metadata = "Chart.yaml"
	chart := filepath.Base(folder)
	text, err := os.ReadFile(filepath.Join(folder, metadata))
	if err != nil {
		return err
	}
	if text, err = withVersion(text, version); err != nil {
		return err
	}
	entries := []entry{{name: path.Join(chart, metadata), mode: 0o644, text: text}} // Helm finds it fastest as the first one.
	files := os.DirFS(folder)
	err = fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || name == metadata {
			return err
		}
		entries = append(entries, entry{name: path.Join(chart, name), mode: 0o644, path: filepath.Join(folder, filepath.FromSlash(name))})
		return nil
	})
	if err != nil {
		return err
	}
	archive, err := compress(time.Unix(0, 0), entries)
	if err != nil {
		return err
	}
	_, err = add(chart+"-"+strings.TrimPrefix(version, "v")+".tgz", archive)
	return err
}

// withVersion returns a Chart.yaml with a version. Those of charts have no v.
func withVersion(text []byte, version string) ([]byte, error) {
	var fields map[string]any
	if err := yaml.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	fields["version"], fields["appVersion"] = strings.TrimPrefix(version, "v"), version
	return yaml.Marshal(fields)
}
