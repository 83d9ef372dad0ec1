// Package page is the page of the command libretto dev: sources in TypeScript, bundled when it starts, and served without anything else.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/evanw/esbuild/pkg/api"
)

//go:embed src
var sources embed.FS

// policy lets the page load what is at its own address and nothing else. No text becomes markup or a script.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// Handler returns a handler that serves the page at /, and its files beside it. Each answer has an ETag that is of its content, so that a
// browser asks again after an upgrade, and gets nothing twice.
func Handler() (http.Handler, error) {
	mux := http.NewServeMux()
	for _, file := range []struct{ path, source, contentType string }{
		{"/{$}", "index.html", "text/html"}, {"/icon.svg", "icon.svg", "image/svg+xml"},
		{"/page.js", "main.ts", "text/javascript"}, {"/page.css", "style.css", "text/css"},
	} {
		content, err := sources.ReadFile(path.Join("src", file.source))
		if err == nil && strings.HasPrefix(file.path, "/page.") {
			content, err = bundle(file.source, api.FormatESModule)
		}
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(content)
		mux.HandleFunc("GET "+file.path, func(w http.ResponseWriter, r *http.Request) {
			for name, value := range map[string]string{
				"Cache-Control": "no-cache", "Content-Security-Policy": policy, "Content-Type": file.contentType + "; charset=utf-8",
				"ETag": `"` + hex.EncodeToString(sum[:16]) + `"`, "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
			} {
				w.Header().Set(name, value)
			}
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
		})
	}
	return mux, nil
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
