package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
)

// process holds what commands use of the process. Only main reads the real one.
type process struct {
	args []string
	// isPlugin reports whether kubectl runs the program.
	isPlugin bool
	// version is the version of the program.
	version        string
	getenv         func(string) string
	stdin          io.Reader
	stdout, stderr io.Writer
	// stderrIsTerminal reports whether people read stderr. Nil means that it is no terminal.
	stderrIsTerminal func() bool
}

// userAgent returns what the process calls itself in requests.
func (w process) userAgent() string {
	return fmt.Sprintf("libretto/%s (%s/%s)", w.version, runtime.GOOS, runtime.GOARCH)
}

// isColoured reports whether standard output is a terminal whose user has not turned colour off.
func (w process) isColoured() bool {
	return w.getenv("NO_COLOR") == "" && w.getenv("TERM") != "dumb" && isTerminal(w.stdout)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// build is what a program is, as JSON.
type build struct {
	Version   string `json:"version"`
	Commit    string `json:"commit,omitempty"`
	Platform  string `json:"platform"`
	GoVersion string `json:"goVersion"`
}

// build returns what the program is.
func (w process) build() build {
	return build{Version: w.version, Commit: commit(), Platform: runtime.GOOS + "/" + runtime.GOARCH, GoVersion: runtime.Version()}
}

// String returns what people read.
func (b build) String() string {
	return fmt.Sprintf("libretto %s %s %s", b.Version, b.Platform, b.GoVersion)
}

// commit returns the commit that the program was built from, or "" if the build does not say.
func commit() string {
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
