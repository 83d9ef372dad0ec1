package artifact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/libretto-k8s/libretto/scripts/bundle"
)

// DefaultHosts are the servers of artifacts of an installation of Flux as it comes.
var DefaultHosts = []string{"source-controller.flux-system.svc.cluster.local.", "source-watcher.flux-system.svc.cluster.local."}

// Limits of fetches.
const (
	// maxPacked bounds an archive as it is fetched.
	maxPacked = bundle.MaxBytes
	// maxHeld bounds the files of all artifacts of one namespace together: whoever writes definitions there must not fill the host's memory.
	maxHeld = 16 * bundle.MaxBytes
	// fetchTimeout is how long a fetch may take, and maxFetches how many there are at once. Each takes memory.
	fetchTimeout = 30 * time.Second
	maxFetches   = 4
)

// Fetcher fetches artifacts. It is used by many goroutines at once.
type Fetcher struct {
	hosts  []string
	client *http.Client
	slots  chan struct{}

	mu sync.Mutex
	// held are the bytes of the files that are held, by namespace.
	held map[string]int
}

// NewFetcher returns a Fetcher for hosts, each a name with its port unless that is the scheme's own. Requests go by transport, or straight
// to the hosts if that is nil.
func NewFetcher(hosts []string, transport http.RoundTripper) *Fetcher {
	if transport == nil {
		// Without proxies, which are other hosts, and with the archives as they are.
		transport = &http.Transport{
			DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, TLSHandshakeTimeout: 5 * time.Second,
			IdleConnTimeout: time.Minute, DisableCompression: true, ForceAttemptHTTP2: true,
		}
	}
	asIs := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	f := &Fetcher{
		client: &http.Client{Transport: transport, CheckRedirect: asIs}, slots: make(chan struct{}, maxFetches), held: map[string]int{},
	}
	for _, host := range hosts {
		f.hosts = append(f.hosts, canonical(host))
	}
	return f
}

// CheckHost returns an error for what is no name of a host with or without a port.
func CheckHost(host string) error {
	if u, err := url.Parse("http://" + host); err != nil || u.Host != host || u.Hostname() == "" {
		return fmt.Errorf("%q is no host: write its name, and :PORT unless that is the scheme's own", host)
	}
	return nil
}

// canonical returns a host by which it is compared.
func canonical(host string) string {
	host = strings.ToLower(host)
	if name, port, err := net.SplitHostPort(host); err == nil {
		return net.JoinHostPort(strings.TrimSuffix(name, "."), port)
	}
	return strings.TrimSuffix(host, ".")
}

// permanentError is an error that another attempt does not change.
type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }

func permanentf(format string, args ...any) error { return permanentError{fmt.Errorf(format, args...)} }

// fetch returns the files of an artifact below a folder.
func (f *Fetcher) fetch(ctx context.Context, a Artifact, folder string) (map[string]string, error) {
	u, err := f.check(a)
	if err != nil {
		return nil, err
	}
	select {
	case f.slots <- struct{}{}:
		defer func() { <-f.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	packed, err := f.get(ctx, u)
	if err != nil {
		return nil, err
	}
	// What the digest is in its place is not said: who may write the status alone learns nothing about what others can fetch.
	if sum := sha256.Sum256(packed); "sha256:"+hex.EncodeToString(sum[:]) != a.Digest {
		return nil, fmt.Errorf("its artifact %s has not the digest %s of status.artifact: it was changed on its way, or the status is wrong",
			shown(u), a.Digest)
	}
	files, err := bundle.UnpackSelected(string(packed), below(folder))
	switch {
	case err != nil:
		return nil, permanentf("its artifact %s can't be unpacked: %w: leave out what is no script, with spec.ignore of the object", shown(u), err)
	case len(files) == 0:
		return nil, permanentf("its artifact %s has no file below %q: correct path in scriptSources", shown(u), folder)
	}
	return files, nil
}

// check returns the URL of an artifact that may be fetched.
func (f *Fetcher) check(a Artifact) (*url.URL, error) {
	u, err := url.Parse(a.URL)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.User != nil, u.Host == "":
		return nil, permanentf("status.artifact.url is %.200q: it must be an http or https URL without a user", a.URL)
	case !slices.Contains(f.hosts, canonical(u.Host)):
		return nil, permanentf("its artifact is on the host %.200q, which --flux-artifact-hosts does not name: add it there if it is your Flux's", u.Host)
	case len(a.Digest) != len("sha256:")+2*sha256.Size || !strings.HasPrefix(a.Digest, "sha256:"):
		return nil, permanentf("status.artifact.digest is %.200q: it must be sha256 and 64 hexadecimal digits", a.Digest)
	}
	return u, nil
}

// shown returns a URL for messages: a query may hold a signature.
func shown(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// get returns what is at a URL.
func (f *Fetcher) get(ctx context.Context, u *url.URL) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, fetchTimeout, fmt.Errorf("no answer within %s", fetchTimeout))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	unreachable := func(err error) error {
		var inner *url.Error
		if errors.As(err, &inner) { // It quotes the URL, too.
			err = inner.Err
		}
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return fmt.Errorf("its artifact %s can't be fetched: %w: see whether that server runs, and whether a NetworkPolicy lets this host reach it",
			shown(u), err)
	}
	response, err := f.client.Do(request)
	if err != nil {
		return nil, unreachable(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("its artifact %s can't be fetched: status %d %s", shown(u), response.StatusCode,
			http.StatusText(response.StatusCode))
	}
	var packed bytes.Buffer
	if _, err := io.Copy(&packed, io.LimitReader(response.Body, maxPacked+1)); err != nil {
		return nil, unreachable(err)
	}
	if packed.Len() > maxPacked {
		return nil, permanentf("its artifact %s has more than %d MiB: leave out what is no script, with spec.ignore of the object, or push "+
			"the scripts alone with libretto push", shown(u), maxPacked>>20)
	}
	return packed.Bytes(), nil
}

// hold notes that an artifact of a namespace has that many bytes more, and returns an error if that is too much.
func (f *Fetcher) hold(namespace string, more int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if more > 0 && f.held[namespace]+more > maxHeld {
		return fmt.Errorf("the artifacts that definitions use of the namespace %s have more than %d MiB together: use path, to take less of them",
			namespace, maxHeld>>20)
	}
	if f.held[namespace] += more; f.held[namespace] == 0 {
		delete(f.held, namespace)
	}
	return nil
}
