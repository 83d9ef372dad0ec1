package kustomize

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/libretto-k8s/libretto/engines/sandbox/confine"
)

// Main builds a kustomization and does not return if the process was started for that. Otherwise it returns at once. It must be called
// first in main, and in TestMain of tests that build kustomizations.
func Main() {
	if len(os.Args) != 3 || os.Args[1] != Argument || os.Getenv(variable) == "" {
		return
	}
	in, out, directory := os.Stdin, os.Stdout, os.Args[2]
	os.Stdout = os.Stderr // Prints must not become messages.
	os.Clearenv()         // Without PATH there is no git, and without a home no plugin.
	refuse := &refusal{}
	http.DefaultTransport = refuse
	_ = confine.Apply(confine.Options{MaxBudget: maxMemory}).Budget(maxMemory)
	if err := run(in, out, directory, refuse); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// run builds a directory and sends the result.
func run(in io.Reader, out io.Writer, directory string, refuse *refusal) error {
	files := &askedFiles{FileSystem: filesys.MakeFsInMemory(), in: json.NewDecoder(bufio.NewReader(in)), out: json.NewEncoder(out)}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, directory)
	if files.err != nil {
		return files.err
	}
	done := &result{}
	if err == nil {
		done.Objects, err = texts(built)
	}
	if err != nil {
		done.Error = &Error{Message: err.Error(), URL: refuse.url}
		done.Error.Remote = refuse.url != "" || strings.Contains(err.Error(), noGit)
	}
	return files.out.Encode(message{Result: done})
}

// noGit is in kustomize's error about a repository that it finds no program to clone with.
const noGit = "no 'git' program on path"

func texts(built resmap.ResMap) ([][]byte, error) {
	var all [][]byte
	for _, resource := range built.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, nil
}

// refusal refuses all requests.
type refusal struct {
	url string // Of the first one.
}

func (r *refusal) RoundTrip(request *http.Request) (*http.Response, error) {
	if r.url == "" {
		r.url = request.URL.String()
	}
	return nil, errors.New("it is not fetched")
}

// askedFiles is the file system of a build: the files of the process that started it, read-only.
type askedFiles struct {
	filesys.FileSystem // An empty one, in memory, for what a build does not use.

	in  *json.Decoder
	out *json.Encoder
	err error
}

func (f *askedFiles) ask(m message) (reply, error) {
	var r reply
	if f.err == nil {
		f.err = f.out.Encode(m)
	}
	if f.err == nil {
		f.err = f.in.Decode(&r)
	}
	if f.err == nil && r.Error != "" {
		return r, errors.New(r.Error)
	}
	return r, f.err
}

func (f *askedFiles) CleanedAbs(path string) (filesys.ConfirmedDir, string, error) {
	r, err := f.ask(message{Resolve: path})
	return filesys.ConfirmedDir(r.Directory), r.File, err
}

func (f *askedFiles) ReadFile(path string) ([]byte, error) {
	r, err := f.ask(message{Read: path})
	return r.Text, err
}
