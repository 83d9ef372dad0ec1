package lsp

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"go.lsp.dev/protocol"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/check"
	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/engines/standard"
)

// project is a folder with definitions.
type project struct {
	folder string
	// files are those that something was found in. Only the check that runs uses it.
	files map[string]bool
	// set is what was loaded last that had a definition.
	set atomic.Pointer[manifest.Set]
}

// loaded returns the set, which is empty for no project.
func (p *project) loaded() *manifest.Set {
	if p != nil && p.set.Load() != nil {
		return p.set.Load()
	}
	return &manifest.Set{}
}

// projectOf returns the project that a file is of, or nil: the nearest kustomization that is made of it, or else the nearest folder above
// with a definition.
func (s *server) projectOf(ctx context.Context, path string) *project {
	var nearest *project
	for folder := filepath.Dir(path); ctx.Err() == nil; folder = filepath.Dir(folder) {
		p := s.projectIn(ctx, folder)
		switch {
		case p != nil && manifest.IsKustomization(folder) && slices.Contains(p.loaded().Inputs, path):
			return p
		case p != nil && nearest == nil:
			nearest = p
		}
		if !s.hasAbove(folder) {
			break
		}
	}
	return nearest
}

// hasAbove reports whether the folder above is in what the editor has open.
func (s *server) hasAbove(folder string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	above := filepath.Dir(folder)
	return above != folder && slices.ContainsFunc(s.roots, func(root string) bool { return isWithin(above, root) })
}

// mayDefine matches the text of a definition.
var mayDefine = regexp.MustCompile(`(?m)\bkind"?:\s*["']?(Composite|Decorator|Map)Controller\b`)

// projectIn returns the project of a folder, or nil if there is no definition in it.
func (s *server) projectIn(ctx context.Context, folder string) *project {
	s.mu.Lock()
	p, known := s.projects[folder]
	s.mu.Unlock()
	if known {
		return p
	}
	if s.defines(folder) {
		p = &project{folder: folder, files: map[string]bool{}}
		if set, err := s.load(ctx, p); err != nil || len(set.Definitions) == 0 && len(set.Problems) == 0 {
			p = nil
		}
	}
	if ctx.Err() == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.projects[folder] = p
	}
	return p
}

// defines reports whether the manifests of a folder may have a definition.
func (s *server) defines(folder string) bool {
	defines := manifest.IsKustomization(folder)
	for _, pattern := range []string{"*.yaml", "*.yml", "*.json"} {
		files, _ := filepath.Glob(filepath.Join(folder, pattern))
		defines = defines || slices.ContainsFunc(files, func(file string) bool { return mayDefine.MatchString(s.read(file)) })
	}
	return defines
}

// load reads the files of a project.
func (s *server) load(ctx context.Context, p *project) (*manifest.Set, error) {
	set, err := s.loadWith(ctx, p, s.overlay())
	if err != nil {
		return nil, err
	}
	if len(p.loaded().Definitions) == 0 || len(set.Definitions) > 0 { // Else a definition is being typed, and the one before is of more use.
		p.set.Store(set)
	}
	return set, nil
}

// loadWith reads the files of a project, with texts in the place of what is saved.
func (s *server) loadWith(ctx context.Context, p *project, overlay map[string]string) (*manifest.Set, error) {
	options := s.options
	options.Filenames, options.IsScript, options.Overlay = []string{p.folder}, standard.IsScript, overlay
	options.Before = p.loaded().CRDs
	var err error
	if options.Scripts == nil && options.ScriptsDir == "" { // Nobody has typed what the files of a repository name.
		if options.Within, err = manifest.BoundaryOf(filepath.Join(p.folder, "file")); err != nil {
			return nil, err
		}
	}
	set, err := manifest.Load(ctx, options)
	if err == nil && options.Scripts == nil && addScripts(&options, set.Files) {
		return manifest.Load(ctx, options)
	}
	return set, err
}

// addScripts puts the directories in the place of ConfigMaps that tests do. It reports whether there are any.
func addScripts(options *manifest.Options, tests []*document.Object) bool {
	found := false
	for _, test := range tests {
		named, _ := test.Object["scripts"].(map[string]any)
		for name, value := range named {
			if folder, _ := value.(string); folder != "" {
				folder = filepath.Join(filepath.Dir(test.Location.File), filepath.FromSlash(folder))
				found = options.AddScripts(name, folder) || found
			}
		}
	}
	return found
}

// checkProject checks a project, and publishes what is found, unless ctx ends before.
func (s *server) checkProject(ctx context.Context, p *project) {
	byFile := map[string][]check.Finding{}
	set, err := s.load(ctx, p)
	if err == nil {
		var result *check.Result
		if result, err = check.Run(ctx, set, s.engines); err == nil {
			for _, f := range result.Findings {
				if file := f.Location.File; !isTest(file) {
					byFile[file] = append(byFile[file], f)
				}
			}
		}
	}
	if err != nil && ctx.Err() == nil {
		_ = s.client.LogMessage(ctx, &protocol.LogMessageParams{Type: protocol.MessageTypeError, Message: p.folder + ": " + err.Error()})
	}
	for path := range s.overlay() {
		if isWithin(path, p.folder) && isTest(path) {
			byFile[path] = s.findingsOfTests(path)
		}
	}
	for path, had := range p.files {
		if _, still := byFile[path]; had && !still {
			byFile[path] = nil
		}
	}
	for path, findings := range byFile {
		if s.publish(ctx, path, findings) {
			p.files[path] = len(findings) > 0
		}
	}
}

func isTest(path string) bool { return strings.HasSuffix(path, controllertest.FileSuffix) }

// findingsOfTests returns what is wrong with a file of tests.
func (s *server) findingsOfTests(path string) []check.Finding {
	read := s.read(path)
	if !isTest(path) || !strings.Contains(read, controllertest.Kind) {
		return nil
	}
	var all []check.Finding
	_, problems := controllertest.Parse(path, []byte(read))
	for _, p := range problems {
		all = append(all, check.Finding{Severity: check.Error, Reason: "Invalid", Location: p.Location, Message: p.Message})
	}
	return all
}
