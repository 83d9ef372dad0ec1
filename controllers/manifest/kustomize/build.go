// Package kustomize builds kustomizations with kustomize's own library, in a process that can neither fetch nor run anything.
//
// kustomize fetches what looks remote, over HTTP or with git, and has no option against that. So it runs in a process of its own, which
// is confined like a script worker where the system can, has no PATH to find a program on, and a transport that refuses every request.
// It opens no files: it asks the process that started it for each. It is killed when its time is over.
package kustomize

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

const (
	// timeout is far more than the largest kustomization takes.
	timeout = 30 * time.Second
	// maxMemory is what a build may use, in bytes, where the system can limit it.
	maxMemory = 2 << 30
	// maxOutput bounds what a build may write, in bytes.
	maxOutput = 256 << 20
	// maxStderr is how much is kept of what a build writes to its standard error.
	maxStderr = 4 << 10
)

// Argument is the first argument of a process that builds. The second one is the directory.
const Argument = "__kustomize"

// variable is set in the environment of a process that builds, so that a program without a call of Main does not start itself for ever.
const variable = "LIBRETTO_KUSTOMIZE"

// Files are all that a build sees of the file system.
type Files interface {
	// CleanedAbs returns the real path of a directory, or that of a file's directory and the name of the file.
	CleanedAbs(path string) (filesys.ConfirmedDir, string, error)
	ReadFile(path string) ([]byte, error)
}

// Error is why kustomize can't build a directory.
type Error struct {
	Message string
	// Remote reports whether it is that something is not fetched. URL is what, or empty if it is a repository: Message has its name.
	Remote bool
	URL    string
}

func (e *Error) Error() string { return e.Message }

// message is what a build sends: a path to resolve, a path to read, or its result.
type message struct {
	Resolve string  `json:"resolve,omitempty"`
	Read    string  `json:"read,omitempty"`
	Result  *result `json:"result,omitempty"`
}

// reply answers a message that is no result.
type reply struct {
	Directory string `json:"directory,omitempty"`
	File      string `json:"file,omitempty"`
	Text      []byte `json:"text,omitempty"`
	Error     string `json:"error,omitempty"`
}

// result ends a build.
type result struct {
	// Objects are the objects as YAML.
	Objects [][]byte `json:"objects,omitempty"`
	Error   *Error   `json:"error,omitempty"`
}

// Build builds a directory, which must be an absolute path, and returns the objects as YAML. The error of what can't be built is an *Error.
func Build(ctx context.Context, files Files, directory string) ([][]byte, error) {
	if os.Getenv(variable) != "" {
		return nil, errors.New("kustomize: this program was started to build a kustomization, and does not call kustomize.Main")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("kustomize did not end within %s", timeout))
	defer cancel()
	if runtime.GOOS == "js" {
		return buildHere(files, directory)
	}
	stderr := &head{}
	command := exec.CommandContext(ctx, executable(), Argument, directory)
	command.Env = []string{variable + "=1", "GOGC=400"}
	command.Stderr, command.WaitDelay = stderr, time.Second
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("kustomize: %w", err)
	}
	built, err := serve(files, in, out)
	if err != nil {
		in.Close() // It has nothing to wait for.
	}
	_ = command.Process.Kill() // It has answered, or is not understood.
	_ = command.Wait()         // The status is in ProcessState.
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("kustomize ended without a result (%w): %s: %s", err, command.ProcessState, strings.TrimSpace(string(stderr.text)))
	case built.Error != nil:
		return nil, built.Error
	}
	return built.Objects, nil
}

// buildHere builds in this process: a browser has no other one, and ends it itself.
func buildHere(files Files, directory string) ([][]byte, error) {
	in, answers := io.Pipe()
	messages, out := io.Pipe()
	refuse := &refusal{}
	http.DefaultTransport = refuse
	go func() { _ = out.CloseWithError(run(in, out, directory, refuse)) }() // It never fails.
	built, err := serve(files, answers, messages)
	switch {
	case err != nil:
		return nil, fmt.Errorf("kustomize: %w", err)
	case built.Error != nil:
		return nil, built.Error
	}
	return built.Objects, nil
}

// executable returns the path of this program, which is valid on Linux even if the file has been replaced.
func executable() string {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe"
	}
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// serve answers a build until it has a result.
func serve(files Files, in io.Writer, out io.Reader) (*result, error) {
	decoder, encoder := json.NewDecoder(io.LimitReader(out, maxOutput)), json.NewEncoder(in)
	for {
		var m message
		if err := decoder.Decode(&m); err != nil {
			return nil, err
		}
		if m.Result != nil {
			return m.Result, nil
		}
		if err := encoder.Encode(answer(files, m)); err != nil {
			return nil, err
		}
	}
}

func answer(files Files, m message) reply {
	var r reply
	var err error
	if m.Read != "" {
		r.Text, err = files.ReadFile(m.Read)
	} else {
		var directory filesys.ConfirmedDir
		directory, r.File, err = files.CleanedAbs(m.Resolve)
		r.Directory = directory.String()
	}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

// head keeps the first bytes that are written to it.
type head struct{ text []byte }

func (h *head) Write(p []byte) (int, error) {
	h.text = append(h.text, p[:min(len(p), maxStderr-len(h.text))]...)
	return len(p), nil
}
