// Command apimarkers prints controllers/api/v1alpha1/script.go with the engines of the list in
// engines/standard in its comments and markers: the enum of the field engine, the rule for
// paths and their messages. tools/generate.sh runs it before it generates the CRDs.
//
// usage: apimarkers FILE
package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/standard"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: apimarkers FILE")
		os.Exit(2)
	}
	source, err := os.ReadFile(os.Args[1])
	if err == nil {
		source, err = withEngines(source, standard.Scripts())
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "apimarkers: %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
	_, _ = os.Stdout.Write(source)
}

// withEngines returns source with the names and file extensions of the engines. It fails if a
// place for them is missing.
func withEngines(source []byte, definitions []engines.Definition) ([]byte, error) {
	var names, extensions, patterns, languages []string
	for _, d := range definitions {
		names = append(names, d.Name)
		extensions = append(extensions, d.Extensions...)
		for _, extension := range d.Extensions {
			patterns = append(patterns, strings.ReplaceAll(extension[1:], ".", "[.]"))
		}
		verb := "are"
		if len(d.Extensions) == 1 {
			verb = "is"
		}
		languages = append(languages, enumerate(d.Extensions, "and")+" "+verb+" "+d.Name)
	}
	anyName := enumerate(names, "or")
	for _, place := range []struct{ pattern, text string }{
		{`(engine to )[^"]*("\n// \+kubebuilder:validation:XValidation:rule="!has\(self\.path\))`, anyName},
		{`(\|\| self\.path\.matches\('\[\.\]\()[^)]*(\)\$'\)",message="the path)`, strings.Join(patterns, "|")},
		{`(the path does not tell the language: end it in ).*?(, or set engine)`, enumerate(extensions, "or")},
		{`(or set engine to )[^"]*(",fieldPath="\.path")`, anyName},
		{`(// Engine is the language\. Defaults to that of the path's extension:)[^+]*(\n\t// \+optional)`,
			wrapped(strings.Join(languages, ", ") + ".")},
		{`(validation:Enum=)\S*(\n\tEngine )`, strings.Join(names, ";")},
	} {
		at := regexp.MustCompile(place.pattern)
		if !at.Match(source) {
			return nil, fmt.Errorf("no place like %s", place.pattern)
		}
		source = at.ReplaceAll(source, []byte("${1}"+strings.ReplaceAll(place.text, "$", "$$")+"${2}"))
	}
	return source, nil
}

// enumerate returns "a, b and c", with the given conjunction.
func enumerate(words []string, conjunction string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
}

// wrapped returns text as the continuation of the comment on field Engine.
func wrapped(text string) string {
	const width, first = 80, len("// Engine is the language. Defaults to that of the path's extension:")
	var b strings.Builder
	column := first
	for word := range strings.FieldsSeq(text) {
		if column+1+len(word) > width {
			b.WriteString("\n\t//")
			column = len("//")
		}
		b.WriteString(" " + word)
		column += 1 + len(word)
	}
	return b.String()
}
