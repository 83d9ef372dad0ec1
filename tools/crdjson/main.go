// Command crdjson reads the CustomResourceDefinitions in the YAML files that are its arguments after the first, and writes each as JSON to
// a file of the same name in the directory that is the first. The program embeds these: reading YAML takes ten times as long.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "crdjson:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return errors.New("name a directory and the files of CustomResourceDefinitions")
	}
	for _, path := range args[1:] {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text, err := yaml.YAMLToJSONStrict(data)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".yaml") + ".json"
		if err := os.WriteFile(filepath.Join(args[0], name), append(text, '\n'), 0o644); err != nil { //nolint:gosec // Others read it.
			return err
		}
	}
	return nil
}
