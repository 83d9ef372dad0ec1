package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licenseName is the file with Libretto's license, and licensesName the one with those of the modules that its programs are made of. Both
// are beside the programs.
const licenseName, licensesName = "LICENSE", "LICENSES.txt"

// isLicense matches the names of files that have to be with what is made of a module.
var isLicense = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)`)

// licensesOf returns the licenses of Go and of all modules that the programs of a platform are made of. Each text is there once, below the
// names of those that it is of.
func licensesOf(ctx context.Context, root string, p platform) ([]byte, error) {
	const each = "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Dir}}{{end}}{{end}}{{if eq .ImportPath `runtime`}}Go\t{{.Root}}{{end}}"
	out, err := goCommand(ctx, root, p, "list", "-deps", "-f", each, "./cmd/...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	folders := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if name, folder, found := strings.Cut(strings.TrimSpace(line), "\t"); found {
			folders[name] = folder
		}
	}
	owners := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		text, err := licenseIn(folders[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		owners[text] = append(owners[text], name)
	}
	texts := slices.SortedFunc(maps.Keys(owners), func(a, b string) int { return strings.Compare(owners[a][0], owners[b][0]) })
	var all bytes.Buffer
	for _, text := range texts {
		fmt.Fprintf(&all, "%s\n\n%s\n%s\n\n", strings.Join(owners[text], "\n"), text, strings.Repeat("-", 80))
	}
	return all.Bytes(), nil
}

// writeLicenses writes the licenses of the programs of a platform beside them, from the checkout.
func writeLicenses(ctx context.Context, root string, p platform, folder string) error {
	own, err := os.ReadFile(filepath.Join(root, licenseName))
	if err != nil {
		return err
	}
	others, err := licensesOf(ctx, root, p)
	if err != nil {
		return fmt.Errorf("licenses of %s: %w", p, err)
	}
	if err := os.WriteFile(filepath.Join(folder, licenseName), own, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, licensesName), others, 0o644)
}

// licenseEntries returns the files with licenses of a folder, as entries in another one.
func licenseEntries(folder, to string) []entry {
	var entries []entry
	for _, name := range []string{licenseName, licensesName} {
		entries = append(entries, entry{name: to + name, mode: 0o644, path: filepath.Join(folder, name)})
	}
	return entries
}

// licenseIn returns the texts of the licenses of a module.
func licenseIn(folder string) (string, error) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	var texts []string
	for _, file := range files {
		if file.IsDir() || !isLicense.MatchString(file.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, file.Name()))
		if err != nil {
			return "", err
		}
		texts = append(texts, string(text))
	}
	if len(texts) == 0 {
		return "", fmt.Errorf("there is no license in %s", folder)
	}
	return strings.Join(texts, "\n"), nil
}
