package lsp

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/engines"
)

// server serves one editor. Its notifications are handled one after another, its requests at the same time.
type server struct {
	protocol.UnimplementedServer
	process cli.Process
	engines *engines.Registry
	// options are those of the command line, for all folders.
	options manifest.Options
	client  protocol.Client
	clock   clock.WithDelayedExecution
	// life ends with the session, and running is what has to end before.
	life    context.Context
	exit    func()
	running sync.WaitGroup

	mu       sync.Mutex
	roots    []string
	buffers  map[string]string   // what editors have open, by path
	projects map[string]*project // by folder, nil for one that is none
	// edited are the files that changed since the last check. pending is the timer of the next one, and stop ends the one that runs.
	edited  map[string]bool
	pending clock.Timer
	stop    func()
	// diagnostics are those of files.
	diagnostics map[string]*diagnostics

	// checking is held by the check that runs, and showing while diagnostics are sent.
	checking, showing sync.Mutex
}

func newServer(
	ctx context.Context, w cli.Process, registry *engines.Registry, options manifest.Options, client protocol.Client,
	c clock.WithDelayedExecution,
) *server {
	return &server{
		process: w, engines: registry, options: options, client: client, clock: c, life: ctx, stop: func() {},
		buffers: map[string]string{}, projects: map[string]*project{}, edited: map[string]bool{},
		diagnostics: map[string]*diagnostics{},
	}
}

// The commands that a client may have executed.
const (
	runCase = "libretto.runCase" // of the file and the line that are the arguments
	runFile = "libretto.runFile"
)

// Initialize answers what the server can do.
func (s *server) Initialize(_ context.Context, params *protocol.InitializeParams) (*protocol.InitializeResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	folders, _ := params.WorkspaceFolders.Get()
	for _, folder := range folders {
		s.roots = append(s.roots, pathOf(folder.URI))
	}
	return &protocol.InitializeResult{
		ServerInfo: protocol.ServerInfo{Name: "libretto", Version: protocol.NewOptional(s.process.Version)},
		Capabilities: protocol.ServerCapabilities{
			TextDocumentSync:       protocol.TextDocumentSyncKindFull,
			CompletionProvider:     &protocol.CompletionOptions{TriggerCharacters: []string{".", "\"", "/"}},
			HoverProvider:          protocol.Boolean(true),
			DefinitionProvider:     protocol.Boolean(true),
			DocumentSymbolProvider: protocol.Boolean(true),
			CodeActionProvider:     &protocol.CodeActionOptions{CodeActionKinds: []protocol.CodeActionKind{protocol.CodeActionKindQuickFix}},
			CodeLensProvider:       &protocol.CodeLensOptions{},
			ExecuteCommandProvider: protocol.ExecuteCommandOptions{Commands: []string{runCase, runFile}},
		},
	}, nil
}

// Shutdown ends checks.
func (s *server) Shutdown(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
	if s.pending != nil {
		s.pending.Stop()
	}
	return nil
}

// Exit ends the session.
func (s *server) Exit(context.Context) error {
	s.exit()
	return nil
}

// DidOpen takes a text in the place of a file's.
func (s *server) DidOpen(_ context.Context, params *protocol.DidOpenTextDocumentParams) error {
	s.edit(pathOf(params.TextDocument.URI), &params.TextDocument.Text)
	return nil
}

// DidChange takes another text.
func (s *server) DidChange(_ context.Context, params *protocol.DidChangeTextDocumentParams) error {
	for _, change := range params.ContentChanges {
		if whole, ok := change.(*protocol.TextDocumentContentChangeWholeDocument); ok {
			s.edit(pathOf(params.TextDocument.URI), &whole.Text)
		}
	}
	return nil
}

// DidSave checks again: what else is on the disk may have changed too.
func (s *server) DidSave(_ context.Context, params *protocol.DidSaveTextDocumentParams) error {
	s.changed(pathOf(params.TextDocument.URI))
	return nil
}

// DidClose goes back to what the file has.
func (s *server) DidClose(_ context.Context, params *protocol.DidCloseTextDocumentParams) error {
	s.edit(pathOf(params.TextDocument.URI), nil)
	return nil
}

// DidChangeWatchedFiles checks what has changed on the disk.
func (s *server) DidChangeWatchedFiles(_ context.Context, params *protocol.DidChangeWatchedFilesParams) error {
	for _, change := range params.Changes {
		s.changed(pathOf(change.URI))
	}
	return nil
}

// edit takes a text in the place of a file's, or none.
func (s *server) edit(path string, text *string) {
	s.mu.Lock()
	if text != nil {
		s.buffers[path] = *text
	} else {
		delete(s.buffers, path)
	}
	s.of(path).failures = nil // They were of another text.
	s.mu.Unlock()
	s.changed(path)
}

// changed has a file checked once nothing more is typed. A check that runs is given up.
func (s *server) changed(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.engines.HasScript(path) { // It may make a project of a folder that was none.
		maps.DeleteFunc(s.projects, func(_ string, p *project) bool { return p == nil })
	}
	s.edited[path] = true
	s.stop()
	if s.pending != nil {
		s.pending.Stop()
	}
	s.pending = s.clock.AfterFunc(debounce, func() { s.running.Go(s.check) })
}

// check checks the projects of the files that have changed.
func (s *server) check() {
	s.checking.Lock()
	defer s.checking.Unlock()
	ctx, stop := context.WithCancel(s.life)
	defer stop()
	s.mu.Lock()
	edited := s.edited
	s.edited, s.stop = map[string]bool{}, stop
	s.mu.Unlock()
	done := map[*project]bool{}
	for _, path := range slices.Sorted(maps.Keys(edited)) {
		p := s.projectOf(ctx, path)
		switch {
		case p == nil:
			s.publish(ctx, path, s.findingsOfTests(path))
		case !done[p]:
			done[p] = true
			s.checkProject(ctx, p)
		}
	}
	if ctx.Err() != nil { // Something newer came: what is not checked is left for the next check.
		s.mu.Lock()
		maps.Copy(s.edited, edited)
		s.mu.Unlock()
	}
}

// overlay returns what is open.
func (s *server) overlay() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.buffers)
}

// read returns the text of a file: what is open, or what the disk has.
func (s *server) read(path string) string {
	s.mu.Lock()
	open, ok := s.buffers[path]
	s.mu.Unlock()
	if ok {
		return open
	}
	return readDisk(path)
}

func readDisk(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > engines.MaxSourceBytes {
		return ""
	}
	read, _ := os.ReadFile(path)
	return string(read)
}

func pathOf(u uri.URI) string { return filepath.Clean(u.FsPath()) }

// isWithin reports whether a path is a folder or is below it.
func isWithin(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, string(filepath.Separator))+string(filepath.Separator))
}
