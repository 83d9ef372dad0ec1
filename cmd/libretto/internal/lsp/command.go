// Package lsp implements libretto lsp: a language server for definitions, their tests and their scripts.
package lsp

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/controllers/simulation/validation"
	"github.com/libretto-k8s/libretto/engines"
)

// Command returns libretto lsp.
func Command(w cli.Process) *cobra.Command {
	files := &cli.ManifestFlags{}
	c := &cobra.Command{
		Use:   "lsp",
		Short: "Serve an editor with what check and test know, over standard input and output",
		Long: `Serve an editor with what check and test know, over standard input and output.

It is a server of the Language Server Protocol for definitions, CustomResource-
Definitions, tests and scripts: findings of check as you type, completion,
descriptions, definitions, symbols, and cases of tests that are run when you ask
for it. Editors start it: see docs/guide/editors.md.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return cli.Cannot(serve(c.Context(), w, files)) },
	}
	files.AddScriptsTo(c.Flags())
	cli.Finish(c, cli.Conduct{
		Success: "the editor has ended it", Cannot: "a bad flag; a message that is none",
		Stdin: "messages of the editor", Stdout: "messages to the editor",
	})
	return c
}

// debounce is how long nothing is typed before the files are checked.
const debounce = 100 * time.Millisecond

// serve serves an editor until it ends the session or its stream.
func serve(ctx context.Context, w cli.Process, files *cli.ManifestFlags) error {
	options, err := files.Options(nil, nil)
	if err != nil && !errors.Is(err, cli.ErrNoFiles) {
		return err
	}
	for name, folder := range options.Scripts { // Editors have no relative paths.
		if options.Scripts[name], err = filepath.Abs(folder); err != nil {
			return err
		}
	}
	if options.ScriptsDir != "" {
		if options.ScriptsDir, err = filepath.Abs(options.ScriptsDir); err != nil {
			return err
		}
	}
	w, stop := cli.WithWorkers(w)
	defer stop()
	registry, err := engines.NewRegistry(engines.Config{}, remembering(cli.OfflineDefinitions(w))...)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn := jsonrpc2.NewConn(jsonrpc2.NewStream(stream{w.Stdin, w.Stdout}), jsonrpc2.WithCodec(codec{}))
	s := newServer(ctx, w, registry, options, protocol.ClientDispatcher(conn), clock.RealClock{})
	s.exit = cancel
	if runtime.NumCPU() > 1 { // Otherwise, as in a browser, all else would wait for it.
		s.running.Go(func() { _ = validation.CompileRules() }) // An error comes again where rules are needed.
	}
	conn.Go(ctx, handler(s))
	select {
	case <-conn.Done():
	case <-ctx.Done():
	}
	cancel()
	s.running.Wait()
	if err := conn.Err(); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// handler returns what handles messages. Notifications are handled in their order, and before any later request, and requests at the same
// time. The context of a message is reused once it is handled, and may not be that of anything: that of the session is taken.
func handler(s *server) jsonrpc2.Handler {
	handle := protocol.CancelHandler(protocol.ServerHandler(s, jsonrpc2.MethodNotFoundHandler))
	return func(ctx context.Context, r *jsonrpc2.Request) (any, error) {
		if !r.IsCall() {
			_, _ = handle(jsonrpc2.DetachContext(ctx), r) // An error of a notification would end the session.
			return nil, nil
		}
		if r.Method() != protocol.MethodInitialize {
			jsonrpc2.Async(ctx)
		}
		return handle(jsonrpc2.DetachContext(ctx), r)
	}
}

// codec is how messages are written.
type codec struct{}

func (codec) Marshal(v any) ([]byte, error) {
	if raw, ok := v.(jsonrpc2.RawMessage); ok && raw != nil {
		return raw, nil
	}
	return protocol.Marshal(v)
}

func (codec) Unmarshal(text []byte, v any) error {
	if raw, ok := v.(*jsonrpc2.RawMessage); ok {
		*raw = slices.Clone(text)
		return nil
	}
	return protocol.Unmarshal(text, v)
}

// stream is the standard input and output. They end with the process.
type stream struct {
	io.Reader
	io.Writer
}

func (stream) Close() error { return nil }
