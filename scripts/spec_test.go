package scripts_test

import (
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/libretto-k8s/libretto/scripts"
)

func TestOpenRefuses(t *testing.T) {
	good := scripts.Hook{Path: "sync.fake"}
	configMap := func(c scripts.ConfigMap) []scripts.Source { return []scripts.Source{{ConfigMap: &c}} }
	cases := map[string]struct {
		reason string
		spec   scripts.Spec
		want   string
	}{
		"NoSource": {
			reason: "a source must say where files come from",
			spec:   scripts.Spec{Sources: []scripts.Source{{}}},
			want:   "scriptSources[0]: exactly one of configMap, directory and flux is required",
		},
		"NoName": {
			reason: "no ConfigMap can be found without a name",
			spec:   scripts.Spec{Sources: configMap(scripts.ConfigMap{Namespace: "a"})},
			want:   "scriptSources[0].configMap: namespace and name are required",
		},
		"ItemLeavesTree": {
			reason: "a path must not lead out of the tree",
			spec: scripts.Spec{Sources: configMap(scripts.ConfigMap{Namespace: "a", Name: "b",
				Items: []scripts.Item{{Key: "x", Path: "x"}, {Key: "y", Path: "lib/../../y"}}})},
			want: `scriptSources[0].configMap.items[1].path: "lib/../../y" must be a path inside the tree, such as lib/sync.js: no leading slash, no empty, . or .. element`,
		},
		"AbsolutePrefix": {
			reason: "a prefix is a folder of the tree, not of the machine",
			spec:   scripts.Spec{Sources: configMap(scripts.ConfigMap{Namespace: "a", Name: "b", Prefix: "/lib"})},
			want:   `scriptSources[0].configMap.prefix: "/lib" must be a path inside the tree, such as lib/sync.js: no leading slash, no empty, . or .. element`,
		},
		"DirectoryLeavesRoot": {
			reason: "a directory must not lead out of the root",
			spec:   scripts.Spec{Sources: []scripts.Source{{Directory: &scripts.Directory{Path: "../etc"}}}},
			want:   "scriptSources[0].directory.path: \"../etc\" must be a path inside the tree, such as lib/sync.js: no leading slash, no empty, . or .. element\nscriptSources[0].directory: this host has no directory for scripts: start it with --scripts-dir, or use configMap",
		},
		"UnknownKind": {
			reason: "no other kind has an artifact of files",
			spec: scripts.Spec{Sources: []scripts.Source{{Flux: &scripts.Flux{FluxOrigin: scripts.FluxOrigin{
				ObjectName: scripts.ObjectName{Kind: "HelmChart", NamespacedName: types.NamespacedName{Namespace: "a", Name: "b"}}, Path: "../x",
			}}}}},
			want: "scriptSources[0].flux: namespace, name and one of the kinds that Flux has are required\n" +
				`scriptSources[0].flux.path: "../x" must be a path inside the tree, such as lib/sync.js: no leading slash, no empty, . or .. element` +
				"\nscriptSources[0].flux: this host reads no artifacts of Flux: start it with --flux-artifact-hosts, or use configMap",
		},
		"NoScript": {
			reason: "a hook without a script is no hook of ours",
			spec:   scripts.Spec{Hooks: map[string]scripts.Hook{"sync": {}}},
			want:   "hooks.sync.script: path or inline is required",
		},
		"PathAndInline": {
			reason: "it would not be clear which of them answers",
			spec:   scripts.Spec{Hooks: map[string]scripts.Hook{"sync": {Path: "a.fake", Inline: "b", Engine: "Fake"}}},
			want:   "hooks.sync.script: path and inline exclude each other",
		},
		"InlineWithoutEngine": {
			reason: "a text has no extension to guess the language from",
			spec:   scripts.Spec{Hooks: map[string]scripts.Hook{"sync": {Inline: "b"}}},
			want:   "hooks.sync.script: inline has no file extension to go by: engine is required",
		},
		"Signature": {
			reason: "an unknown signature would be called in the wrong way",
			spec:   scripts.Spec{Hooks: map[string]scripts.Hook{"sync": {Path: "a.fake", Signature: "Express"}}},
			want:   `hooks.sync.script: signature "Express" must be Request or HTTPContext`,
		},
		"DottedPath": {
			reason: "a second spelling of a path would not be found in the tree",
			spec:   scripts.Spec{Hooks: map[string]scripts.Hook{"sync": {Path: "./a.fake"}}},
			want:   `hooks.sync.script.path: "./a.fake" must be a path inside the tree, such as lib/sync.js: no leading slash, no empty, . or .. element`,
		},
		"Parameters": {
			reason: "parameters are handed over as JSON",
			spec:   scripts.Spec{Hooks: map[string]scripts.Hook{"sync": {Path: "a.fake", Parameters: func() {}}}},
			want:   "hooks: parameters are not JSON: json: unsupported type: func()",
		},
		"Several": {
			reason: "all errors are reported at once",
			spec:   scripts.Spec{Sources: []scripts.Source{{}}, Hooks: map[string]scripts.Hook{"a": good, "b": {}}},
			want:   "scriptSources[0]: exactly one of configMap, directory and flux is required\nhooks.b.script: path or inline is required",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			registry, _ := fakeRegistry(t)
			library := scripts.NewLibrary(scripts.Config{Client: fake.NewClientset(), Engines: registry, Log: logr.Discard()})
			tree, err := library.Open(tc.spec, func() {})
			if err == nil {
				tree.Close()
				t.Fatalf("%s: Open(...): want an error", tc.reason)
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("%s: Open(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
