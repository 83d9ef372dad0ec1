//go:build js

// Command playground is libretto in a browser, compiled to WebAssembly: libretto dev for a folder in memory or, with arguments, a command
// that needs no cluster.
package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall/js"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/check"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/dev"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/render"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/test"
)

// version is set by the linker, of a release.
var version = "unreleased"

// folder is where the files of the page are.
const folder = "/work"

func main() {
	klog.SetLogger(logr.Discard())
	w := cli.Process{Args: os.Args[1:], Version: version, Getenv: os.Getenv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	if len(w.Args) > 0 {
		os.Exit(cli.Execute(context.Background(), w, cli.NewRoot(w, check.Command, render.Command, test.Command)))
	}
	handler, err := dev.Open(context.Background(), w, folder)
	if err != nil {
		js.Global().Call("librettoFailed", err.Error())
		return
	}
	js.Global().Set("librettoRequest", js.FuncOf(func(_ js.Value, args []js.Value) any {
		go serve(handler, args[0].String(), args[1].String(), args[2].String(), args[3].String(), args[4])
		return nil
	}))
	js.Global().Call("librettoReady")
	select {}
}

// serve answers a request. answer is called with the status and the type of the content, then with each part of the content, and last
// without arguments.
func serve(handler http.Handler, method, path, contentType, body string, answer js.Value) {
	defer answer.Invoke()
	w := &writer{header: http.Header{}, answer: answer}
	r, err := http.NewRequest(method, "http://localhost"+path, io.NopCloser(strings.NewReader(body)))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Header.Set("Content-Type", contentType)
	handler.ServeHTTP(w, r)
}

// writer hands an answer over to JavaScript. It is a http.Flusher: nothing waits in it.
type writer struct {
	header http.Header
	answer js.Value
	begun  bool
}

// Header returns the header, of which the type of the content is handed over.
func (w *writer) Header() http.Header { return w.header }

// WriteHeader hands the status over.
func (w *writer) WriteHeader(status int) {
	if !w.begun {
		w.begun = true
		w.answer.Invoke(status, w.header.Get("Content-Type"))
	}
}

// Write hands a part of the content over, as a Uint8Array.
func (w *writer) Write(part []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	bytes := js.Global().Get("Uint8Array").New(len(part))
	js.CopyBytesToJS(bytes, part)
	w.answer.Invoke(bytes)
	return len(part), nil
}

// Flush does nothing.
func (w *writer) Flush() {}
