package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/printable"
)

// TextFormats are the formats of -o of commands that print text for people or JSON for programs.
var TextFormats = []string{"text", "json"}

// WriteJSON writes a value as JSON for people and programs.
func WriteJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

var (
	escapeData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	escapeProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// WriteAnnotation writes a workflow command of GitHub, such as error, which becomes an annotation of a line.
func WriteAnnotation(out io.Writer, command, title string, at engines.Location, text string) error {
	var properties []string
	if at.File != "" {
		properties = append(properties, "file="+escapeProperty.Replace(printable.Text(at.File)))
	}
	if at.Line > 0 {
		properties = append(properties, fmt.Sprintf("line=%d", at.Line))
	}
	if at.Column > 0 {
		properties = append(properties, fmt.Sprintf("col=%d", at.Column))
	}
	properties = append(properties, "title="+escapeProperty.Replace(printable.Text(title)))
	_, err := fmt.Fprintf(out, "::%s %s::%s\n", command, strings.Join(properties, ","), escapeData.Replace(printable.Text(text)))
	return err
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

// Count returns how many there are of what has that name.
func Count(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "s"):
		return fmt.Sprintf("%d %ses", n, what)
	case strings.HasSuffix(what, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(what, "y"))
	default:
		return fmt.Sprintf("%d %ss", n, what)
	}
}
