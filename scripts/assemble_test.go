package scripts_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

func TestAssemble(t *testing.T) {
	type data = map[string]string
	hooks := map[string]scripts.Hook{"sync": {Path: "sync.fake"}}
	all := func(name string) scripts.Source {
		return scripts.Source{ConfigMap: &scripts.ConfigMap{Namespace: "a", Name: name}}
	}
	items := func(name, prefix string, items ...scripts.Item) scripts.Source {
		return scripts.Source{ConfigMap: &scripts.ConfigMap{Namespace: "a", Name: name, Prefix: prefix, Items: items}}
	}
	cases := map[string]struct {
		reason  string
		objects map[string]data
		binary  data // of the ConfigMap "binary"
		sources []scripts.Source
		hooks   map[string]scripts.Hook
		files   data
		message string
		warning string
	}{
		"AllKeys": {
			reason:  "without items every key is a file",
			objects: map[string]data{"one": {"sync.fake": "s", "b.txt": "b"}},
			sources: []scripts.Source{all("one")},
			files:   data{"sync.fake": "s", "b.txt": "b"},
		},
		"Items": {
			reason:  "items choose keys and put them into folders, below the prefix",
			objects: map[string]data{"one": {"sync.fake": "s"}, "two": {"k": "k", "left": "out"}},
			sources: []scripts.Source{all("one"), items("two", "vendor/x", scripts.Item{Key: "k", Path: "lib/k"})},
			files:   data{"sync.fake": "s", "vendor/x/lib/k": "k"},
		},
		"Prefix": {
			reason:  "a prefix keeps equal keys of two ConfigMaps apart",
			objects: map[string]data{"one": {"sync.fake": "s"}, "two": {"sync.fake": "other"}},
			sources: []scripts.Source{all("one"), items("two", "lib")},
			files:   data{"sync.fake": "s", "lib/sync.fake": "other"},
		},
		"Binary": {
			reason:  "text in binaryData is text",
			binary:  data{"sync.fake": "grüß"},
			sources: []scripts.Source{all("binary")},
			files:   data{"sync.fake": "grüß"},
		},
		"Inline": {
			reason:  "an inline script is a file at the root, and may import from the sources",
			objects: map[string]data{"one": {"lib": "l"}},
			sources: []scripts.Source{all("one")},
			hooks:   map[string]scripts.Hook{"sync": {Inline: "import lib", Engine: "Fake"}},
			files:   data{"inline-sync.fake": "import lib", "lib": "l"},
		},
		"NotText": {
			reason:  "what is no text is reported with its place",
			binary:  data{"sync.fake": "ab\nü\xff!"},
			sources: []scripts.Source{all("binary")},
			message: "ConfigMap a/binary: sync.fake:2:2: not UTF-8 text: save it as UTF-8, or leave it out with items",
		},
		"Picture": {
			reason:  "a file that is no text is left out if nothing can mean it",
			objects: map[string]data{"one": {"sync.fake": "import lib"}},
			binary:  data{"lib": "l", "logo.png": "\x89PNG\xff"},
			sources: []scripts.Source{all("one"), all("binary")},
			files:   data{"sync.fake": "import lib", "lib": "l"},
			warning: "ConfigMap a/binary: logo.png: left out, as it is not UTF-8 text, and no script names it",
		},
		"LargePicture": {
			reason:  "it takes no room from the scripts",
			objects: map[string]data{"one": {"sync.fake": "s"}},
			binary:  data{"logo.png": "\xff" + strings.Repeat("x", engines.MaxSourceBytes)},
			sources: []scripts.Source{all("binary"), all("one")},
			files:   data{"sync.fake": "s"},
			warning: "ConfigMap a/binary: logo.png: left out, as it is not UTF-8 text, and no script names it",
		},
		"NamedPicture": {
			reason:  "one that a text names may be imported by it",
			objects: map[string]data{"one": {"sync.fake": "import assets/logo.png"}},
			binary:  data{"logo.png": "\x89PNG"},
			sources: []scripts.Source{all("one"), items("binary", "assets", scripts.Item{Key: "logo.png", Path: "logo.png"})},
			message: "ConfigMap a/binary: assets/logo.png:1:1: not UTF-8 text: save it as UTF-8, or leave it out with items",
		},
		"ScriptInLatin1": {
			reason:  "one that has the name of a script is a mistake, whether or not anything imports it",
			objects: map[string]data{"one": {"sync.fake": "s"}},
			binary:  data{"other.fake": "gr\xfc\xdf"},
			sources: []scripts.Source{all("one"), all("binary")},
			message: "ConfigMap a/binary: other.fake:1:3: not UTF-8 text: save it as UTF-8, or leave it out with items",
		},
		"TestsInLatin1": {
			reason:  "so is one with tests, which would not be run",
			objects: map[string]data{"one": {"sync.fake": "s"}},
			binary:  data{"sync_test.yaml": "\xfc"},
			sources: []scripts.Source{all("one"), all("binary")},
			message: "ConfigMap a/binary: sync_test.yaml:1:1: not UTF-8 text: save it as UTF-8, or leave it out with items",
		},
		"HookOfAnyName": {
			reason: "and the file of a hook",
			binary: data{"sync.bin": "\xfc"}, hooks: map[string]scripts.Hook{"sync": {Path: "sync.bin", Engine: "Fake"}},
			sources: []scripts.Source{all("binary")},
			message: "ConfigMap a/binary: sync.bin:1:1: not UTF-8 text: save it as UTF-8, or leave it out with items",
		},
		"Duplicate": {
			reason:  "it must be clear which of two files is meant",
			objects: map[string]data{"one": {"sync.fake": "s"}, "two": {"sync.fake": "s"}},
			sources: []scripts.Source{all("one"), all("two")},
			message: "ConfigMap a/two: sync.fake: the path is taken by ConfigMap a/one: set prefix, or choose with items",
		},
		"MissingKey": {
			reason:  "a key that is not there is reported, and none of those that are: they may be in a namespace that the reader may not read",
			objects: map[string]data{"one": {"sync.fake": "s", "b": ""}},
			sources: []scripts.Source{items("one", "", scripts.Item{Key: "sync.fak", Path: "sync.fake"})},
			message: `ConfigMap a/one: no key "sync.fak": add it, or correct items`,
		},
		"Empty": {
			reason:  "a ConfigMap without keys exists, and has nothing to offer",
			objects: map[string]data{"one": nil},
			sources: []scripts.Source{all("one")},
			message: `hook sync: no file "sync.fake" in the script sources: they have none`,
		},
		"MissingPath": {
			reason: "a path that is not there is reported with those that are, but not with all of a hundred",
			objects: map[string]data{"one": {
				"a": "", "b": "", "c": "", "d": "", "e": "", "f": "", "g": "", "h": "", "i": "", "j": "", "k": "", "l": "",
			}},
			sources: []scripts.Source{all("one")},
			message: `hook sync: no file "sync.fake" in the script sources: they have a, b, c, d, e, f, g, h, i, j and 2 more`,
		},
		"UnknownExtension": {
			reason:  "an extension that nobody claims is reported with those that are claimed",
			objects: map[string]data{"one": {"sync.rb": "s"}},
			sources: []scripts.Source{all("one")},
			hooks:   map[string]scripts.Hook{"sync": {Path: "sync.rb"}},
			message: "ConfigMap a/one: sync.rb: no engine for a script of this name: known endings are .fake, or set engine",
		},
		"UnknownEngine": {
			reason:  "an engine that is not there is reported with those that are",
			hooks:   map[string]scripts.Hook{"sync": {Inline: "s", Engine: "Ruby"}},
			message: `hook sync: no engine "Ruby": this host offers Fake`,
		},
		"PlaceOfError": {
			reason:  "an error belongs to the ConfigMap whose file it points to, else to its hook",
			objects: map[string]data{"one": {"sync.fake": "bad"}, "two": {"finalize.fake": "elsewhere"}},
			sources: []scripts.Source{all("one"), all("two")},
			hooks:   map[string]scripts.Hook{"sync": {Path: "sync.fake"}, "finalize": {Path: "finalize.fake"}},
			message: "ConfigMap a/one: sync.fake:1:4: bad\nhook finalize: points to no file",
		},
		"SameErrorTwice": {
			reason:  "what two hooks have in common is reported once",
			objects: map[string]data{"one": {"sync.fake": "bad"}},
			sources: []scripts.Source{all("one")},
			hooks:   map[string]scripts.Hook{"sync": {Path: "sync.fake"}, "finalize": {Path: "sync.fake"}},
			message: "ConfigMap a/one: sync.fake:1:4: bad",
		},
		"Many": {
			reason: "five problems are reported, and how many more there are",
			sources: []scripts.Source{all("one"), items("one", "",
				scripts.Item{Key: "q", Path: "q"}, scripts.Item{Key: "p", Path: "p"}, scripts.Item{Key: "o", Path: "o"},
				scripts.Item{Key: "n", Path: "n"}, scripts.Item{Key: "m", Path: "m"}, scripts.Item{Key: "l", Path: "l"},
			)},
			objects: map[string]data{"one": {"sync.fake": "s"}},
			message: `ConfigMap a/one: no key "l": add it, or correct items
ConfigMap a/one: no key "m": add it, or correct items
ConfigMap a/one: no key "n": add it, or correct items
ConfigMap a/one: no key "o": add it, or correct items
ConfigMap a/one: no key "p": add it, or correct items
and 1 more`,
		},
		"Long": {
			reason:  "a problem is cut between two characters",
			objects: map[string]data{"one": {"sync.fake": "bad" + strings.Repeat("ü", 1000)}},
			sources: []scripts.Source{all("one")},
			message: "ConfigMap a/one: sync.fake:1:4: bad" + strings.Repeat("ü", 482) + "...",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newEnv(t)
				for name, data := range tc.objects {
					put(name, data)(w)
				}
				putBinary(w, tc.binary)
				spec := scripts.Spec{Sources: tc.sources, Hooks: tc.hooks}
				if spec.Hooks == nil {
					spec.Hooks = hooks
				}
				w.play(spec, changed)
				if diff := cmp.Diff(tc.message, w.tree.State().Message()); diff != "" {
					t.Errorf("%s: problems: -want, +got:\n%s", tc.reason, diff)
				}
				if diff := cmp.Diff(tc.warning, w.tree.State().Warnings); diff != "" {
					t.Errorf("%s: warnings: -want, +got:\n%s", tc.reason, diff)
				}
				if diff := cmp.Diff(tc.files, w.files()); diff != "" {
					t.Errorf("%s: files: -want, +got:\n%s", tc.reason, diff)
				}
			})
		})
	}
}

func putBinary(w *env, data map[string]string) {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "binary"}, BinaryData: map[string][]byte{}}
	for key, value := range data {
		object.BinaryData[key] = []byte(value)
	}
	if _, err := w.client.CoreV1().ConfigMaps("a").Create(context.Background(), object, metav1.CreateOptions{}); err != nil {
		w.t.Fatalf("put binary: %v", err)
	}
}

// files returns the module tree that serves, or nil.
func (w *env) files() map[string]string {
	revision := w.tree.Current()
	if revision == nil {
		return nil
	}
	return revision.Programs["sync"].(fakeProgram).source.Script.Files
}
