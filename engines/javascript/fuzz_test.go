package javascript

import (
	"io/fs"
	"testing"

	"github.com/libretto-k8s/libretto/engines"
)

// FuzzResolve resolves any import in a tree with any package.json. What it leads to is a file of the tree,
// and it always ends.
func FuzzResolve(f *testing.F) {
	for _, manifest := range []string{
		`{"main":"./lib/a","module":"b.mjs"}`, `{"exports":{".":{"import":"./b.mjs","require":["./lib/a.js"]},"./x/*":"./lib/*.js","./y/":"./lib/"}}`,
		`{"imports":{"#a":"#b","#b":"p","#c/*":"./lib/*.js","#d":"../../up","#e":"/etc/passwd"}}`, `{"exports":"./lib/a.js"}`, `{"exports":[null,1,{}]}`, `{`, `null`,
	} {
		for _, imported := range []string{"./lib/a", "p", "p/x/a", "p/y/a.js", "#a", "#c/a", "#d", "#e", "../../../etc/passwd", "@s/p/x", "", ".", "node:fs", "https://a/b"} {
			f.Add(manifest, imported, "node_modules/p/index.js", true)
			f.Add(manifest, imported, "sync.js", false)
		}
	}
	f.Fuzz(func(t *testing.T, manifest, imported, importer string, required bool) {
		if !fs.ValidPath(importer) {
			t.Skip("no path of a tree")
		}
		files := engines.Files{
			importer: "", "sync.js": "", "package.json": manifest, "lib/a.js": "", "node_modules/p/package.json": manifest,
			"node_modules/p/lib/a.js": "", "node_modules/p/b.mjs": "", "node_modules/@s/p/index.js": "", "up.js": "",
		}
		r := importRequest{importer: importer, imported: imported, required: required}
		found, err := tree{Files: files}.resolve(r)
		if _, ok := files[found]; err == nil && !ok {
			t.Errorf("%q leads to %q, which is no file of the tree", imported, found)
		}
		if err != nil && len(err.Error()) > 8*(len(imported)+len(manifest)+len(importer))+4<<10 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	})
}
