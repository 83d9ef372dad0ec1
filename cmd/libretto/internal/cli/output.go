package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// TextFormats are the formats of -o of commands that print text for people or JSON for programs.
var TextFormats = []string{"text", "json"}

// OneOf returns an error unless the value of a flag is one of a few.
func OneOf(flag, value string, values []string) error {
	if !slices.Contains(values, value) {
		return fmt.Errorf("%s %s: there are %s", flag, value, strings.Join(values, ", "))
	}
	return nil
}

// WriteJSON writes a value as JSON for people and programs.
func WriteJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// WriteFile writes a file, and makes its folder.
func WriteFile(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// plainWord matches what a shell leaves as it is.
var plainWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// ShellQuoted returns a word as a shell reads it.
func ShellQuoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
