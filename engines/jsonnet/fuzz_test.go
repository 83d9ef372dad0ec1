package jsonnet

import (
	"io/fs"
	"testing"

	"github.com/libretto-k8s/libretto/engines"
)

// FuzzResolve resolves any import. What it leads to is a file of the tree, or the host's own module.
func FuzzResolve(f *testing.F) {
	for _, imported := range []string{"a.libsonnet", "../lib/b.libsonnet", "./../a.libsonnet", "../../etc/passwd", "/etc/passwd", "", ".", "libretto", "lib//b.libsonnet"} {
		f.Add(imported, "sync.jsonnet")
		f.Add(imported, "lib/x/sync.jsonnet")
	}
	f.Fuzz(func(t *testing.T, imported, importer string) {
		if !fs.ValidPath(importer) {
			t.Skip("no path of a tree")
		}
		files := engines.Files{importer: "", "a.libsonnet": "", "lib/b.libsonnet": ""}
		for _, resolve := range []func(importer, imported string) (string, error){tree{files}.resolve, tree{files}.module} {
			found, err := resolve(importer, imported)
			if _, ok := files[found]; err == nil && !ok && found != preludeFile {
				t.Errorf("%q leads to %q, which is no file of the tree", imported, found)
			}
		}
	})
}
