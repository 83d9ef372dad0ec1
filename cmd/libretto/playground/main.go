//go:build js

// Command playground is libretto in a browser, compiled to WebAssembly: libretto dev for a folder in memory or, with arguments, a command
// that needs no cluster.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"os"
	"strconv"
	"strings"
	"syscall/js"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/check"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/dev"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/lsp"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/render"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/test"
)

// version is set by the linker, of a release.
var version = "unreleased"

func main() {
	klog.SetLogger(logr.Discard())
	w := cli.Process{Args: os.Args[1:], Version: version, Getenv: os.Getenv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	if len(w.Args) > 0 {
		os.Exit(cli.Execute(context.Background(), w, cli.NewRoot(w, check.Command, render.Command, test.Command)))
	}
	fail := func(err error) { js.Global().Call("librettoFailed", err.Error()) }
	folder, err := os.Getwd() // Where the page has put the files.
	if err != nil {
		fail(err)
		return
	}
	handler, err := dev.Open(context.Background(), w, folder, fail)
	if err != nil {
		fail(err)
		return
	}
	js.Global().Set("librettoRequest", js.FuncOf(func(_ js.Value, args []js.Value) any {
		go serve(handler, args[0].String(), args[1].String(), args[2].String(), args[3].String(), args[4])
		return nil
	}))
	js.Global().Set("librettoEdit", edit(w))
	js.Global().Call("librettoReady")
	select {}
}

// edit starts the language server, and returns a function that takes a message of the editor. Those of the server go to librettoEdited.
func edit(w cli.Process) js.Func {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	w.Args, w.Stdin, w.Stdout = []string{"lsp"}, in, out
	go cli.Execute(context.Background(), w, cli.NewRoot(w, lsp.Command))
	go func() {
		for r := textproto.NewReader(bufio.NewReader(fromServer)); ; {
			header, err := r.ReadMIMEHeader()
			if err != nil {
				return // The server has ended.
			}
			length, _ := strconv.Atoi(header.Get("Content-Length"))
			message := make([]byte, length)
			if _, err := io.ReadFull(r.R, message); err != nil {
				return
			}
			js.Global().Call("librettoEdited", string(message))
		}
	}()
	messages := make(chan string, 1000) // A function for JavaScript must not wait.
	go func() {
		for message := range messages {
			fmt.Fprintf(toServer, "Content-Length: %d\r\n\r\n%s", len(message), message)
		}
	}()
	return js.FuncOf(func(_ js.Value, args []js.Value) any {
		messages <- args[0].String()
		return nil
	})
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
