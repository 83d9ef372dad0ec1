package dev

import (
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/check"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/engines"
)

// problems are what is wrong with the folder: with its files, and what the host says of its definitions.
type problems struct {
	stream  *stream
	root    string
	engines *engines.Registry

	mu sync.Mutex
	// files has the definitions, once they were read, and locators the places in their scripts, as far as somebody has asked.
	files    *manifest.Set
	locators map[*document.Object]check.Locator
	// bySource are the problems of the folder, of definitions, and of what can't be listed.
	bySource map[string][]string
}

// The sources of problems of the folder: why it can't be read, what can't be applied, and what libretto check finds.
const sourceRead, sourceApplied, sourceCheck = "", "applied", "check"

// afterName matches a place that follows the definition and the hook that a problem is about.
var afterName = regexp.MustCompile(`^(\w+ \S+: (?:hook \w+: )?)(\S+): `)

// put replaces the problems of a source, and sends all. Each begins with a place, as far as it is known.
func (p *problems) put(source string, texts ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(texts) == 0 && len(p.bySource[source]) == 0 {
		return
	}
	p.bySource[source] = texts
	all := []string{}
	for _, source := range slices.Sorted(maps.Keys(p.bySource)) {
		for _, text := range p.bySource[source] {
			located, d := p.locate(text)
			switch {
			case d != nil && located == text:
				located = d.Place(strings.SplitN(text, ": ", 3)[1]).String() + ": " + text
			case d != nil:
				located = afterName.ReplaceAllString(located, "$2: $1")
			}
			all = append(all, withoutRoot(located, p.root))
		}
	}
	p.stream.put("problems", "problems", all)
}

// setFiles sets where the files are that definitions and their scripts are from.
func (p *problems) setFiles(set *manifest.Set) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files, p.locators = set, map[*document.Object]check.Locator{}
}

// place matches a place in a script as the host names it, with the ConfigMap before it.
var place = regexp.MustCompile(`(?:ConfigMap [\w.-]+/[\w.-]+: )?([\w@./-]+\.\w+):(\d+)(?::(\d+))?`)

// locate returns a text of the host with the places in scripts as the author knows them, as far as they are in the folder, and the
// definition that it is about, or nil. The lock is held.
func (p *problems) locate(text string) (located string, about *document.Object) {
	if p.files == nil {
		return text, nil
	}
	for _, d := range p.files.Definitions {
		if name := apply.KeyOf(d.Unstructured).String(); strings.HasPrefix(text, name+": ") || strings.Contains(text, `"`+name+`"`) {
			about = d
		}
	}
	if about == nil {
		return text, nil
	}
	if p.locators[about] == nil {
		p.locators[about] = check.NewLocator(p.files, p.engines, about)
	}
	return place.ReplaceAllStringFunc(text, func(found string) string {
		parts := place.FindStringSubmatch(found)
		at := engines.Location{File: parts[1]}
		at.Line, _ = strconv.Atoi(parts[2])
		at.Column, _ = strconv.Atoi(parts[3])
		if at, known := p.locators[about](at); known {
			return at.String()
		}
		return found
	}), about
}

// terminal is written the log of the host to.
type terminal struct {
	io.Writer
	problems *problems
}

// Write writes a line of the log.
func (t terminal) Write(line []byte) (int, error) {
	t.problems.mu.Lock()
	located, _ := t.problems.locate(string(line))
	t.problems.mu.Unlock()
	_, err := io.WriteString(t.Writer, located)
	return len(line), err
}

// withoutRoot returns a text in which files are named as in the folder.
func withoutRoot(text, root string) string {
	if root == "." || root == "" {
		return text
	}
	return regexp.MustCompile(`(^|[^\w./-])`+regexp.QuoteMeta(root+string(filepath.Separator))).ReplaceAllString(text, "$1")
}
