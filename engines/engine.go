// Package engines is the contract between a controller and what answers its hooks: a
// script in one of several languages, or a webhook.
//
// An engine tries once and keeps nothing. Deadlines, retries, caches of answers and
// metrics belong to the caller, so that they exist once. Package
// enginetest holds the suite that every engine passes; package standard lists
// the engines that the binary offers.
package engines

import (
	"context"
	"crypto/tls"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/libretto-k8s/libretto/runtime/values/lru"
)

// Definition describes an engine without starting it.
type Definition struct {
	// Name is how a definition asks for the engine, such as "JavaScript".
	Name string
	// Doc describes in one sentence what the engine runs.
	Doc string
	// Extensions are the endings of the files that belong to the engine, each
	// with its dot. An engine without any can only be asked for by name.
	Extensions []string
	// Imports matches an import that binds names, at the start of a line. Its group has the names, as "{a, b as c}" or "a". Nil means
	// that the language has none.
	Imports *regexp.Regexp
	// Tests are the files of tests that the engine runs. Nil means none.
	Tests *TestFiles
	// New starts the engine. It is called at most once for each process.
	New func(Config) (Engine, error)
}

// Owns reports whether the script of that path belongs to the engine if no other one has a longer extension.
func (d Definition) Owns(path string) bool {
	return slices.ContainsFunc(d.Extensions, func(extension string) bool { return strings.HasSuffix(path, extension) })
}

// Config is what an engine may use of the process that it runs in.
type Config struct {
	// UserAgent names this program to servers that it calls.
	UserAgent string
	// Calls is how many calls to one endpoint are likely to be under way at once,
	// for as many of which connections are kept. Zero means 32.
	Calls int
	// Answers keeps answers, by their Call.Owner. Nil means that an engine keeps its own.
	Answers *lru.Cache
}

// Engine turns sources into programs. It is used by many goroutines at once.
type Engine interface {
	// Compile loads src completely, so that a program which compiled can fail
	// only at run time. It is called once for each revision of a source and
	// returns an *Error of kind Invalid, with the place, if src can't be loaded,
	// or the error of Ended if ctx was over first.
	Compile(ctx context.Context, src Source) (Program, error)
}

// Program is one hook, ready to be called. It is used by many goroutines at once.
type Program interface {
	// Run answers one call. It must not change what the call holds or keep any of it,
	// and no call may see what another one left behind. Run returns soon after ctx ends,
	// with an *Error of kind Timeout if that was its deadline (see Ended). Every error that
	// it returns is an *Error; the response then holds only Logs, TimeDependent and Coverage.
	Run(ctx context.Context, call Call) (Response, error)
	// CircuitOpen returns the error that all calls get while the program's circuit
	// breaker is open, or nil while calls are made.
	CircuitOpen() *Error
	// Warnings returns problems of a source that compiled nevertheless, such as an import of
	// a file that does not exist, each with its location. They are of kind Invalid, and the
	// same for equal sources.
	Warnings() []*Error
	// Files returns the files that the program consists of: its answers depend on no others but for their names. Nil means
	// all files of the script.
	Files() []UsedFile
	// CoveragePoints returns what Response.Coverage counts, at most MaxCoveragePoints. It returns nil if
	// Script.Coverage was not set.
	CoveragePoints() []CoveragePoint
	// Outline returns what the script does with values. It returns nil if Script.Outline was not set, and if the script is too large.
	Outline() *Outline
}

// Outliner is implemented by programs of which an outline can be had though Script.Outline was not set.
type Outliner interface {
	// LoadOutline returns what the script does with values. It loads the script once more for that, and returns nil if it is too large.
	LoadOutline(ctx context.Context) (*Outline, error)
}

// ProgramBase implements the methods of Program that few programs need. It has no circuit
// breaker, no warnings, no coverage, no outline, and needs all files.
type ProgramBase struct{}

// CircuitOpen returns nil.
func (ProgramBase) CircuitOpen() *Error { return nil }

// Warnings returns nil.
func (ProgramBase) Warnings() []*Error { return nil }

// Files returns nil.
func (ProgramBase) Files() []UsedFile { return nil }

// CoveragePoints returns nil.
func (ProgramBase) CoveragePoints() []CoveragePoint { return nil }

// Outline returns nil.
func (ProgramBase) Outline() *Outline { return nil }

// Source is what a program is compiled from. Exactly one of Script and Endpoint is set.
type Source struct {
	// Hook is the hook that the program answers, such as "sync".
	Hook     string
	Script   *Script
	Endpoint *Endpoint
	// Owner is the definition that the program is compiled for, as in Call.
	Owner string
	// TrustDomain names those who wrote the script: programs share a worker process only if it
	// is the same. Empty means the host: definitions and its own files.
	TrustDomain string
	// More is set if another source of the same owner is compiled right after this one, for which its worker is kept.
	More bool
}

// Script is a module tree and the place in it where the hook is.
type Script struct {
	// Files maps slash-separated paths to contents. It is shared by all hooks
	// of a definition and never changes.
	Files Files
	// Path is the entry, a key of Files.
	Path string
	// Function is the name of the export to call. If it is empty, the export
	// named like the hook is called and, failing that, the default export.
	Function string
	// Signature is the calling convention of the function.
	Signature Signature
	// Parameters is handed to the script as request.parameters unless it is nil.
	Parameters any
	// MemoryBytes is what one call may use, for engines that run in a process of
	// their own: the others have nothing to bound it with. Zero means 256 MiB;
	// less than 64 MiB or more than 1 GiB mean these.
	MemoryBytes int64
	// Checked are the paths of files whose content was checked for another program: an engine need not check it again.
	Checked map[string]bool
	// Coverage makes calls report which points of the script they reach. It is for tests: it takes time.
	Coverage bool
	// Outline makes programs have an outline. It is for checks: it takes time at load.
	Outline bool
}

// UsedFile is a file that a program consists of.
type UsedFile struct {
	Path string
	// Checked is true if its content need not be checked again, in whatever script it is: see Script.Checked.
	Checked bool
}

// Signature is a calling convention for scripts.
type Signature string

const (
	// Request hands the hook's request to the function, which returns the response.
	Request Signature = "Request"
	// HTTPContext hands over {request: {body}} and takes {status, body}, as hooks
	// written for metacontroller's Node.js function server expect.
	HTTPContext Signature = "HTTPContext"
)

// Endpoint is a webhook.
type Endpoint struct {
	// URL is complete and starts with http:// or https://.
	URL string
	// MaxResponseBytes bounds the body of an answer. Zero means 8 MiB.
	MaxResponseBytes int64
	// RefuseDoubled makes a field that an answer has twice an error, but for fields
	// inside of the objects that it lists.
	RefuseDoubled bool
	// Etag makes the engine remember answers by their ETag, unless it is nil.
	Etag *Etag
	// Access returns what calls use now. It may be called by many goroutines at once. It returns the same TLS until that changes. Nil
	// means the system's certificates and no credentials.
	Access func() (*Access, error)
	// Transport makes the requests. Nil means the network.
	Transport http.RoundTripper
}

// Etag bounds how long an endpoint's answers are remembered.
type Etag struct {
	// Expiry is how long after its last use an answer may be used again. Zero
	// means for as long as there is room.
	Expiry time.Duration
	// Cleanup is how often answers past their expiry are removed. Zero means as
	// they are met.
	Cleanup time.Duration
}

// Access is how a server is authenticated, and the credentials for it. It never
// changes once made.
type Access struct {
	// TLS is nil for the system's certificates and no client certificate.
	TLS *tls.Config
	// Authorization is the header of that name, or empty.
	Authorization string
}

// Call is one question to a hook.
type Call struct {
	// Request is the JSON object that the hook is given (section 2 of the
	// specification), as package unstructured represents JSON: map[string]any,
	// []any, string, bool, int64, float64 and nil. Its parts are shared with
	// caches and must not be changed. An object in it that has metadata.uid and
	// metadata.resourceVersion must not be changed after the call either:
	// a later request with the same map is taken to have the same content.
	Request map[string]any
	// Subject distinguishes calls with the same seed to the same hook. It is empty
	// if there is only one.
	Subject string
	// Now is the time that the hook sees, one for the whole call.
	Now time.Time
	// Seed makes the hook's random numbers repeatable. Calls with the same seed are
	// about the same object, and their requests have much in common.
	Seed string
	// Owner is the definition, for fair use of what hooks run on: no owner gets all of it
	// while another one waits. Empty means the program.
	Owner string
	// Origin is the object whose content the call is about. Hooks do not see it.
	Origin Origin
	// Background makes the call give way to others. It is for tests, whose objects are none of the cluster.
	Background bool
}

// Origin is the object whose content a call is about: the parent, or an input of a map. If its
// calls cost workers, the calls about it are held back, and not those about other objects.
type Origin struct {
	// ID identifies the object. All calls without an ID count as about one object.
	ID string
	// Namespace is that of the object, or empty.
	Namespace string
}

// Response is a hook's answer.
type Response struct {
	// Body is the answer as it came, of the same types as Call.Request. It is
	// nil if the hook answered null, and may be of any JSON type: the caller
	// checks whether it is a valid response to the hook. It may share parts with
	// the request, and with itself, so it must not be changed either.
	Body any
	// TimeDependent is true if the answer may differ for an equal request,
	// because the program read the clock or is not of this process.
	TimeDependent bool
	// Remote is true if the answer came from a server, which may run another
	// program by now, unnoticed by this process.
	Remote bool
	// Read is what the program looked at in the request: the answer to a request that differs in nothing but the
	// rest is the same. Nil means unknown: everything may matter. See ReadSet.
	Read ReadSet
	// Logs are the lines that the program wrote, in order, cut at 64 KiB.
	Logs []string
	// Coverage is the set of the program's CoveragePoints that the call reached, even if it failed. It is nil
	// if Script.Coverage was not set.
	Coverage Coverage
}
