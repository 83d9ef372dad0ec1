// Package page is the page of the command libretto dev: sources in TypeScript, bundled when it starts, and served without anything else.
package page

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

//go:embed src
var sources embed.FS

// policy lets the page load what is at its own address and nothing else. No text becomes markup or a script.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// file is what is served at one path.
type file struct {
	contentType, etag string
	content           []byte
}

// Handler returns a handler that serves the page at /, and its files beside it. Each answer has an ETag that is of its content, so that a
// browser asks again after an upgrade, and gets nothing twice.
func Handler() (http.Handler, error) {
	files := map[string]file{}
	for _, static := range []struct{ path, source, contentType string }{
		{"/", "index.html", "text/html; charset=utf-8"},
		{"/icon.svg", "icon.svg", "image/svg+xml"},
	} {
		content, err := sources.ReadFile(path.Join("src", static.source))
		if err != nil {
			return nil, err
		}
		files[static.path] = newFile(static.contentType, content)
	}
	for _, entry := range []struct{ path, source, contentType string }{
		{"/page.js", "main.ts", "text/javascript; charset=utf-8"},
		{"/page.css", "style.css", "text/css; charset=utf-8"},
	} {
		content, err := bundle(entry.source, api.FormatESModule)
		if err != nil {
			return nil, err
		}
		files[entry.path] = newFile(entry.contentType, content)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(w, r, files) }), nil
}

func newFile(contentType string, content []byte) file {
	sum := sha256.Sum256(content)
	return file{contentType: contentType, content: content, etag: `"` + hex.EncodeToString(sum[:16]) + `"`}
}

func serve(w http.ResponseWriter, r *http.Request, files map[string]file) {
	found, ok := files[r.URL.Path]
	switch {
	case !ok:
		http.NotFound(w, r)
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the page is only read", http.StatusMethodNotAllowed)
		return
	}
	for name, value := range map[string]string{
		"Cache-Control": "no-cache", "Content-Security-Policy": policy, "Content-Type": found.contentType, "ETag": found.etag,
		"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
	} {
		w.Header().Set(name, value)
	}
	if r.Header.Get("If-None-Match") == found.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(found.content) // A browser that has gone needs no page.
}

// bundle returns a source with all that it imports, in one file.
func bundle(source string, format api.Format) ([]byte, error) {
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{source}, Bundle: true, Write: false, Format: format, GlobalName: "page", Target: api.ES2022,
		Charset: api.CharsetUTF8, MinifyWhitespace: true, MinifySyntax: true, LogLevel: api.LogLevelSilent,
		Plugins: []api.Plugin{{Name: "sources", Setup: load}},
	})
	if len(result.Errors) > 0 {
		return nil, errors.New("the page: " + strings.Join(api.FormatMessages(result.Errors, api.FormatMessagesOptions{}), ""))
	}
	return result.OutputFiles[0].Contents, nil
}

// load has esbuild read the embedded sources, never the disk.
func load(build api.PluginBuild) {
	const namespace = "page"
	build.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(args api.OnResolveArgs) (api.OnResolveResult, error) {
		return api.OnResolveResult{Path: path.Join("src", args.Path), Namespace: namespace}, nil
	})
	build.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: namespace}, func(args api.OnLoadArgs) (api.OnLoadResult, error) {
		content, err := fs.ReadFile(sources, args.Path)
		if err != nil {
			return api.OnLoadResult{}, fmt.Errorf("import of %s: %w", args.Path, err)
		}
		text, loader := string(content), api.LoaderTS
		if path.Ext(args.Path) == ".css" {
			loader = api.LoaderCSS
		}
		return api.OnLoadResult{Contents: &text, Loader: loader}, nil
	})
}
