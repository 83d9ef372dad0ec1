//go:build linux

package hostile

import (
	"embed"
	"path"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

//go:embed testdata/*.txtar
var testdata embed.FS

// attack is a script that must be contained.
type attack struct {
	// name begins with its class, such as loop-for.js.
	name     string
	language string
	files    map[string]string
}

// languages are the archives' names and those of the engines.
var languages = map[string]string{"javascript": "JavaScript", "jsonnet": "Jsonnet", "cel": "CEL"}

// corpus is all attacks, with the places that they try to reach filled in.
func corpus(t *testing.T, c canary) []attack {
	t.Helper()
	all := deep()
	for archive, language := range languages {
		text, err := testdata.ReadFile(path.Join("testdata", archive+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range txtar.Parse(text).Files {
			all = with(all, language, file.Name, c.fill(string(file.Data)))
		}
	}
	return all
}

// with adds a file. All of one folder are one attack, and lie beside each other.
func with(all []attack, language, name, text string) []attack {
	folder, inside, isFolder := strings.Cut(name, "/")
	if !isFolder {
		return append(all, one(language, name, text))
	}
	if last := len(all) - 1; last >= 0 && all[last].name == folder {
		all[last].files[inside] = text
		return all
	}
	return append(all, attack{name: folder, language: language, files: map[string]string{inside: text}})
}

// class is what the attack tries.
func (a attack) class() string {
	name, _, _ := strings.Cut(a.name, "-")
	return name
}

// entry is the path of the hook: the file that is named like the attack or, in a folder, sync.
func (a attack) entry() string {
	for path := range a.files {
		if path == a.name || strings.HasPrefix(path, "sync.") && !strings.HasSuffix(path, ".map") {
			return path
		}
	}
	return ""
}

// TestCorpus counts the attacks, so that none is lost by a mistake in an archive.
func TestCorpus(t *testing.T) {
	counted, byClass, names := map[string]int{}, map[string]int{}, map[string]bool{}
	for _, a := range corpus(t, canary{}) {
		counted[a.language]++
		byClass[a.class()]++
		if _, known := classes[a.class()]; !known || a.entry() == "" || names[a.language+a.name] {
			t.Errorf("%s %s: its class has to be known, it needs an entry, and there must be only one of the name", a.language, a.name)
		}
		names[a.language+a.name] = true
	}
	for language, least := range map[string]int{"JavaScript": 60, "Jsonnet": 25, "CEL": 30} {
		if counted[language] < least {
			t.Errorf("%d attacks in %s, want %d", counted[language], language, least)
		}
	}
	for name, c := range classes {
		if byClass[name] == 0 {
			t.Errorf("there is no attack of the class %s: %s", name, c.about)
		}
	}
	t.Logf("attacks by language: %v, by class: %v", counted, byClass)
}
