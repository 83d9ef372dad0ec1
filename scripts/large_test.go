package scripts

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/watchset/objectwatch"
	"github.com/libretto-k8s/libretto/scripts/bundle"
	"github.com/libretto-k8s/libretto/scripts/directory"
)

// generatedLibrary returns a library of about size bytes in files of 2 KB, as generators write them: much alike, and not the same.
func generatedLibrary(size int) map[string]string {
	files := map[string]string{}
	for n := 0; size > 0; n++ {
		var text strings.Builder
		fmt.Fprintf(&text, "{\n  // Kind%d is the schema for the kinds%d API.\n", n, n)
		for field := 0; text.Len() < 2000; field++ {
			fmt.Fprintf(&text, "  withField%d(value):: { spec+: { field%d: value } },\n  withField%dMixin(value):: { spec+: { field%d+: value } },\n",
				n*field, n*field, n*field, n*field)
		}
		text.WriteString("}\n")
		files[fmt.Sprintf("gen/group%d/v1/kind%d.libsonnet", n%40, n)] = text.String()
		size -= text.Len()
	}
	return files
}

// chunked returns the library as the readings of ConfigMaps of a megabyte, and a spec of those and of a hook.
func chunked(files map[string]string, hook string) (Spec, map[Origin]reading) {
	spec, readings := Spec{Hooks: map[string]Hook{"sync": {Path: "sync.fake"}}}, map[Origin]reading{}
	add := func(name, prefix string, files map[string]string) {
		source := Source{ConfigMap: &ConfigMap{Namespace: "a", Name: name, Prefix: prefix}}
		spec.Sources = append(spec.Sources, source)
		readings[source.Origin()] = reading{synced: true, files: files}
	}
	add("hook", "", map[string]string{"sync.fake": hook})
	part, size := map[string]string{}, 0
	for path, text := range files {
		part[path] = text
		if size += len(text); size > 900<<10 {
			add(fmt.Sprintf("lib%d", len(spec.Sources)), "vendor", part)
			part, size = map[string]string{}, 0
		}
	}
	add("rest", "vendor", part)
	return spec, readings
}

func TestTreeLimits(t *testing.T) {
	registry := &engines.Registry{}
	many := map[string]string{}
	for n := range maxFiles {
		many[fmt.Sprint(n)] = ""
	}
	cases := map[string]struct {
		reason string
		files  map[string]string
		hook   string
		want   string
	}{
		"Large":    {"16 MiB of several ConfigMaps are a tree", generatedLibrary(engines.MaxSourceBytes - 4<<10), "1", ""},
		"TooLarge": {"no more are", map[string]string{"a": strings.Repeat("a", engines.MaxSourceBytes)}, "1", "a: from here on the script files have more than 16 MiB together: pack what the hooks reach with libretto bundle, or choose with items what is needed"},
		"TooMany":  {"empty files take memory too", many, "1", "from here on there are more than 10000 script files: pack what the hooks reach with libretto bundle, or choose with items what is needed"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			spec, readings := chunked(tc.files, tc.hook)
			d := assemble(spec, readings, registry)
			switch {
			case tc.want == "" && len(d.problems) > 0:
				t.Errorf("%s: %v", tc.reason, d.problems[0])
			case tc.want != "" && (len(d.problems) != 1 || !strings.Contains(d.problems[0].String(), tc.want)):
				t.Errorf("%s: %v, want one problem with %q", tc.reason, d.problems, tc.want)
			}
		})
	}
	if maxFiles < bundle.MaxFiles || maxFiles < directory.MaxFiles {
		t.Error("a source may have more files than a tree")
	}
}

// TestLargeTreesShareText opens many definitions whose hooks differ and whose library is one ConfigMap with an archive of 4 MiB.
func TestLargeTreesShareText(t *testing.T) {
	packed, err := bundle.Pack(generatedLibrary(4 << 20))
	if err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "lib"}, BinaryData: map[string][]byte{bundle.Key: packed},
	})
	registry, err := engines.NewRegistry(engines.Config{})
	if err != nil {
		t.Fatal(err)
	}
	library := NewLibrary(Config{Client: client, Engines: registry, Log: logr.Discard()})
	const definitions = 20
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	var trees []*Tree
	var assembled []*moduleTree
	for n := range definitions {
		done := make(chan struct{}, 100)
		spec := Spec{
			Hooks:   map[string]Hook{"sync": {Inline: fmt.Sprint(n), Engine: "None"}},
			Sources: []Source{{ConfigMap: &ConfigMap{Namespace: "a", Name: "lib", Prefix: "vendor"}}},
		}
		tree, err := library.Open(spec, func() { done <- struct{}{} })
		if err != nil {
			t.Fatal(err)
		}
		defer tree.Close()
		<-done // There is no engine: it was assembled before that was found.
		trees, assembled = append(trees, tree), append(assembled, assemble(spec, tree.read(), registry))
	}
	took := heap() - before
	t.Logf("%d definitions on a library of %d files in %d MiB take %d MiB", definitions, len(assembled[0].files), assembled[0].bytes>>20, took>>20)
	if most := uint64(25 << 20); took > most { // Without sharing it is 80 MiB.
		t.Errorf("%d definitions take %d MiB, want at most %d", definitions, took>>20, most>>20)
	}
	if files := assembled[0].files; len(files) < 2000 || trees[0].State().Desired == "" {
		t.Errorf("%d files, state %+v", len(files), trees[0].State())
	}
	runtime.KeepAlive(assembled)
	for _, tree := range trees {
		tree.Close()
	}
	if n := len(library.sources.expansions.byName); n > 0 {
		t.Errorf("%d archives are held for nobody", n)
	}
}

// TestArchivesTogetherAreBounded reads many archives that each expand to as much as a tree may have, and then to less.
func TestArchivesTogetherAreBounded(t *testing.T) {
	pack := func(size int) string {
		t.Helper()
		packed, err := bundle.Pack(map[string]string{"a.fake": strings.Repeat("a", size)})
		if err != nil {
			t.Fatal(err)
		}
		return string(packed)
	}
	const sources = 32
	spec, all := Spec{}, expansions{}
	unpackers := map[Origin]unpackFunc{}
	for n := range sources {
		source := Source{ConfigMap: &ConfigMap{Namespace: "a", Name: fmt.Sprint(n), Prefix: fmt.Sprint("p", n)}}
		spec.Sources = append(spec.Sources, source)
		unpackers[source.Origin()] = all.open(objectwatch.Name{Kind: objectwatch.ConfigMap, Namespace: "a", Name: fmt.Sprint(n)}).unpack
	}
	read := func(packed string) (held, failed int) {
		readings := map[Origin]reading{}
		for origin := range unpackers {
			readings[origin] = reading{synced: true, files: map[string]string{bundle.Key: packed}}
		}
		expand(spec, readings, unpackers)
		for _, x := range all.byName {
			held += sizeOf(x.files)
		}
		for origin, r := range readings {
			if r.err != nil && !strings.Contains(r.err.Error(), "with those of the archives before it, its files have more than 16 MiB together") {
				t.Errorf("%s: %v", origin, r.err)
			}
			if r.err != nil {
				failed++
			}
		}
		return held, failed
	}
	for range 2 { // The second time nothing is expanded.
		if held, failed := read(pack(bundle.MaxBytes)); held != bundle.MaxBytes || failed != sources-1 {
			t.Errorf("%d bytes are held and %d of %d archives refused", held, failed, sources)
		}
	}
	if held, failed := read(pack(bundle.MaxBytes / sources)); held != bundle.MaxBytes || failed != 0 {
		t.Errorf("of smaller ones, %d bytes are held and %d of %d archives refused", held, failed, sources)
	}
}

func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree := &Tree{wake: make(chan struct{}, 1), last: lastLoad{throttledUntil: time.Now().Add(time.Second)}}
		tree.trigger()
		began := time.Now()
		if tree.throttle(t.Context()); time.Since(began) != time.Second || len(tree.wake) != 0 {
			t.Errorf("throttled for %s, want 1s; %d triggers are left", time.Since(began), len(tree.wake))
		}
		if tree.throttle(t.Context()); time.Since(began) != time.Second {
			t.Error("a tree that was throttled before waits")
		}
	})
}

// BenchmarkAssemble measures what the host does for an edit of the hook beside a library, besides compiling and archiving.
func BenchmarkAssemble(b *testing.B) {
	for _, mib := range []int{1, 5, 15} {
		spec, readings := chunked(generatedLibrary(mib<<20), "1")
		b.Run(fmt.Sprintf("%dMiB", mib), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d := assemble(spec, readings, &engines.Registry{})
				if len(d.problems) > 0 {
					b.Fatal(d.problems)
				}
				fingerprintOf(d.files, nil)
				d.sourceFiles()
			}
		})
	}
}
