package sandbox

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
)

func programOf(t *testing.T, domain string, files map[string]string) *program {
	t.Helper()
	p := &program{engine: "Jsonnet", domain: domain, script: engines.Script{Files: files}}
	if err := p.setFiles(); err != nil {
		t.Fatal(err)
	}
	return p
}

func unchecked(content) bool { return false }

// TestShareTexts sends two revisions of a program, and the first one again once it is known what it needs.
func TestShareTexts(t *testing.T) {
	c := newTextCache()
	first := programOf(t, "", map[string]string{"a": "hook", "b": "library", "c": "library", "d": "unused"})
	share := func(p *program, check func(content) bool) []protocol.File {
		files, texts := c.share(p, check)
		for _, text := range texts {
			c.release(text)
		}
		return files
	}
	want := []protocol.File{
		{Path: "a", ID: 1, Text: "hook"}, {Path: "b", ID: 2, Text: "library"},
		{Path: "c", ID: 2, Known: true}, {Path: "d", ID: 3, Text: "unused"},
	}
	if diff := cmp.Diff(want, share(first, unchecked)); diff != "" {
		t.Errorf("all is new (-want +got):\n%s", diff)
	}
	second := programOf(t, "", map[string]string{"a": "edited", "b": "library", "d": "unused"})
	want = []protocol.File{{Path: "a", ID: 4, Text: "edited"}, {Path: "b", ID: 2, Known: true, Checked: true}, {Path: "d", ID: 3, Known: true}}
	if diff := cmp.Diff(want, share(second, func(of content) bool { return of == contentOf("library") })); diff != "" {
		t.Errorf("one file is new (-want +got):\n%s", diff)
	}
	second.setUsed([]engines.UsedFile{{Path: "a", Checked: true}, {Path: "b"}})
	want = []protocol.File{{Path: "a", ID: 4, Known: true}, {Path: "b", ID: 2, Known: true}, {Path: "d"}}
	if diff := cmp.Diff(want, share(second, unchecked)); diff != "" {
		t.Errorf("what is not used keeps its name, and has no text (-want +got):\n%s", diff)
	}
}

// TestForgedFiles: a worker that somebody has taken over names files that the program does not have, and some twice.
func TestForgedFiles(t *testing.T) {
	p := programOf(t, "", map[string]string{"a": "1", "b": "2", "c": "3"})
	p.setUsed([]engines.UsedFile{{Path: "c", Checked: true}, {Path: "x"}, {Path: "a"}, {Path: "a", Checked: true}, {Path: ""}})
	if diff := cmp.Diff([]engines.UsedFile{{Path: "a", Checked: true}, {Path: "c", Checked: true}}, p.Files()); diff != "" || p.uses("x") || p.uses("b") {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// TestCoverageUsesAll: what no hook imports is counted as well.
func TestCoverageUsesAll(t *testing.T) {
	p := programOf(t, "", map[string]string{"a": "", "b": ""})
	p.script.Coverage = true
	if p.setUsed([]engines.UsedFile{{Path: "a"}}); !p.uses("b") || p.Files() != nil {
		t.Errorf("files %v", p.Files())
	}
}

// TestEvictTexts drops texts that no program needs, the least recently used first, and keeps the others.
func TestEvictTexts(t *testing.T) {
	const part = maxUnusedTexts / 2
	c, programs := newTextCache(), newProgramCache()
	load := func(name string) {
		_, texts := c.share(programOf(t, "", map[string]string{name: strings.Repeat(name, part)}), unchecked)
		for text := range maps.Values(texts) {
			programs.add(name, 1)
			programs.addText(name, text)
		}
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		load(name)
	}
	if got := c.evict(); got != nil || c.memory() != 4*part || c.usedBytes != 4*part {
		t.Errorf("%v are gone, %d bytes are left: programs need all", got, c.memory())
	}
	programs.memory = maxProgramMemory - 3*part
	if got := programs.evict(&c); cmp.Diff([]string{"a"}, got) != "" {
		t.Errorf("programs %v are gone: texts count as their memory", got)
	}
	if got := c.evict(); got != nil {
		t.Errorf("texts %v are gone, and there is room", got)
	}
	for _, name := range []string{"b", "c", "d"} {
		for _, text := range programs.texts[name] {
			c.release(text)
		}
	}
	load("a")
	if diff := cmp.Diff([]uint64{2}, c.evict()); diff != "" || c.has(contentOf(strings.Repeat("b", part))) || c.memory() != 3*part {
		t.Errorf("%d bytes are left, gone are (-want +got):\n%s", c.memory(), diff)
	}
}

// TestChecked: what a worker claims holds for its own trust domain and engine.
func TestChecked(t *testing.T) {
	pool := New(Config{})
	defer pool.Close()
	files := map[string]string{"a": "code", "b": "text"}
	first := programOf(t, "one", files)
	pool.setChecked(first, []engines.UsedFile{{Path: "a", Checked: true}, {Path: "b"}, {Path: "unknown", Checked: true}})
	other := programOf(t, "one", files)
	other.engine = "Other"
	for name, c := range map[string]struct {
		reason string
		prog   *program
		text   string
		want   bool
	}{
		"itself":       {"it was checked", first, "code", true},
		"another":      {"of the same domain", programOf(t, "one", nil), "code", true},
		"not checked":  {"the engine did not say so", first, "text", false},
		"other domain": {"its workers are not believed here", programOf(t, "two", files), "code", false},
		"other engine": {"it checks otherwise", other, "code", false},
	} {
		if got := pool.isChecked(c.prog, contentOf(c.text)); got != c.want {
			t.Errorf("%s: %s: %v", name, c.reason, got)
		}
	}
}
