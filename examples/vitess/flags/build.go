package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// module is a module with programs, in the version that the example is written for.
type module struct {
	path, version string
	programs      map[string]string // Packages by name of the program.
}

var modules = []module{
	{"vitess.io/vitess", "v0.24.2", map[string]string{
		"mysqlctld":    "vitess.io/vitess/go/cmd/mysqlctld",
		"vtctld":       "vitess.io/vitess/go/cmd/vtctld",
		"vtctldclient": "vitess.io/vitess/go/cmd/vtctldclient",
		"vtgate":       "vitess.io/vitess/go/cmd/vtgate",
		"vtorc":        "vitess.io/vitess/go/cmd/vtorc",
		"vttablet":     "vitess.io/vitess/go/cmd/vttablet",
	}},
	{"go.etcd.io/etcd/server/v3", "v3.6.8", map[string]string{"etcd": "go.etcd.io/etcd/server/v3"}},
}

// build builds the programs that are not there in the right version, and returns their paths by name.
func build(ctx context.Context, directory string, out io.Writer) (map[string]string, error) {
	paths := map[string]string{}
	for _, m := range modules {
		missing := map[string]string{}
		for name, pkg := range m.programs {
			paths[name] = filepath.Join(directory, name)
			if !m.built(paths[name]) {
				missing[paths[name]] = pkg
			}
		}
		if err := m.build(ctx, missing, out); err != nil {
			return nil, err
		}
		fmt.Fprintf(out, "%s %s\n", m.path, m.version)
	}
	return paths, nil
}

// built reports whether a program was built from the version of the module.
func (m module) built(program string) bool {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return false
	}
	for _, dep := range append(info.Deps, &info.Main) {
		if dep.Path == m.path {
			return dep.Version == m.version
		}
	}
	return false
}

// build builds packages, by path of the program, in a temporary module that needs nothing but this one, so that the programs have
// the dependencies that their authors chose.
func (m module) build(ctx context.Context, packages map[string]string, out io.Writer) error {
	if len(packages) == 0 {
		return nil
	}
	directory, err := os.MkdirTemp("", "vitess-flags-build")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	text := fmt.Sprintf("module programs\n\ngo 1.26.0\n\nrequire %s %s\n", m.path, m.version)
	if err := os.WriteFile(filepath.Join(directory, "go.mod"), []byte(text), 0o644); err != nil {
		return err
	}
	tool := os.Getenv("GO")
	if tool == "" {
		tool = "go"
	}
	for path, pkg := range packages {
		start := time.Now()
		fmt.Fprintf(out, "building %s (the first time takes minutes) ...", filepath.Base(path))
		command := exec.CommandContext(ctx, tool, "build", "-mod=mod", "-trimpath", "-o", path, pkg)
		command.Dir = directory
		command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
		if text, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s of %s %s: %w\n%s", pkg, m.path, m.version, err, text)
		}
		fmt.Fprintf(out, " %.0f s\n", time.Since(start).Seconds())
	}
	return nil
}
