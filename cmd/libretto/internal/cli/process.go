// Package cli is what the commands share: what they use of the process, how they end, and the flags that several have.
package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/libretto-k8s/libretto/engines/sandbox"
)

// Process holds what commands use of the process. Only main reads the real one.
type Process struct {
	Args []string
	// IsPlugin reports whether kubectl runs the program.
	IsPlugin bool
	// Version is the version of the program, and Commit what it was built from, or "" if only the compiler knows.
	Version, Commit string

	Getenv         func(string) string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// StderrIsTerminal reports whether people read stderr. Nil means that it is no terminal.
	StderrIsTerminal func() bool
	// Workers run the scripts of OfflineEngines. Nil means workers of each command's own.
	Workers *sandbox.Pool
}

// UserAgent returns what the process calls itself in requests.
func (w Process) UserAgent() string {
	return fmt.Sprintf("libretto/%s (%s/%s)", w.Version, runtime.GOOS, runtime.GOARCH)
}

// IsColoured reports whether standard output is a terminal whose user has not turned colour off.
func (w Process) IsColoured() bool {
	return w.Getenv("NO_COLOR") == "" && w.Getenv("TERM") != "dumb" && IsTerminal(w.Stdout)
}

// IsTerminal reports whether a writer is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Build is what a program is, as JSON.
type Build struct {
	Version   string `json:"version"`
	Commit    string `json:"commit,omitempty"`
	Platform  string `json:"platform"`
	GoVersion string `json:"goVersion"`
}

// Build returns what the program is.
func (w Process) Build() Build {
	return Build{
		Version: w.Version, Commit: cmp.Or(w.Commit, compiledCommit()),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, GoVersion: runtime.Version(),
	}
}

// Release returns the version, with the beginning of the commit.
func (b Build) Release() string {
	if b.Commit == "" {
		return b.Version
	}
	return fmt.Sprintf("%s (%.12s)", b.Version, b.Commit)
}

// String returns what people read.
func (b Build) String() string {
	return fmt.Sprintf("libretto %s %s %s", b.Release(), b.Platform, b.GoVersion)
}

// compiledCommit returns the commit that the compiler has seen, or "" if there is none.
func compiledCommit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return ""
}
