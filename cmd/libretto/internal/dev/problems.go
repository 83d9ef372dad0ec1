package dev

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/engines"
)

// problems are what is wrong with the folder: with its files, and what the host says of its definitions.
type problems struct {
	stream *stream
	root   string

	mu sync.Mutex
	// files has the places of what the host names by ConfigMaps, once they were read.
	files *manifest.Set
	// bySource are the problems of the folder, whose name is empty, and of definitions.
	bySource map[string][]string
}

// put replaces the problems of a source, and sends all.
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
			all = append(all, withoutRoot(p.locate(text), p.root))
		}
	}
	p.stream.put("problems", "problems", all)
}

// setFiles sets where the files are that definitions and ConfigMaps are from.
func (p *problems) setFiles(set *manifest.Set) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files = set
}

// inConfigMap matches a place as the host names it.
var inConfigMap = regexp.MustCompile(`ConfigMap ([\w.-]+)/([\w.-]+): ([\w.-]+):(\d+):(\d+): `)

// locate returns a text that begins with the place in the file, if it names one in a ConfigMap.
func (p *problems) locate(text string) string {
	found := inConfigMap.FindStringSubmatch(text)
	switch {
	case p.files == nil:
		return text
	case found == nil:
		for _, d := range p.files.Definitions {
			if problem, is := strings.CutPrefix(text, apply.KeyOf(d.Unstructured).String()+": "); is {
				field, _, _ := strings.Cut(problem, ":")
				return d.Place(field).String() + ": " + text
			}
		}
		return text
	}
	at := engines.Location{File: found[3]}
	at.Line, _ = strconv.Atoi(found[4])
	at.Column, _ = strconv.Atoi(found[5])
	name := types.NamespacedName{Namespace: found[1], Name: found[2]}
	return p.files.LocateKey(name, at).String() + ": " + strings.Replace(text, found[0], "", 1)
}

// withoutRoot returns a text in which files are named as in the folder.
func withoutRoot(text, root string) string {
	if root == "." {
		return text
	}
	return strings.ReplaceAll(text, root+string(filepath.Separator), "")
}
