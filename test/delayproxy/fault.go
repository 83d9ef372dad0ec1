package delayproxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Fault is what goes wrong with some requests. Several may be set: the first one that hits a request counts. One that says nothing of what
// is to go wrong only counts them.
type Fault struct {
	// Verbs, Resources and Group say which requests may be hit, as in a Rule.
	Verbs, Resources []string
	Group            string
	// Chance is how likely it is that one of them is hit, where 0 stands for always.
	Chance float64
	// Skip is how many pass before the first one is hit, and Times how many are hit at most, where 0 stands for any number.
	Skip, Times int

	// Status is answered in place of the API server: 403, 409, 410, 429, 500 or 503.
	Status int
	// Unreachable ends the connection before the API server gets the request.
	Unreachable bool
	// Lost ends the connection after the API server has acted: the client doesn't know that its write was done.
	Lost bool
	// Hit is called before the API server gets the request, or, if it is Lost, after that has acted. Then the request is held until its client
	// is gone, which Hit may be the reason of.
	Hit func()
}

// counted is a Fault and what has come to it so far.
type counted struct {
	Fault
	seen, hits int
}

// faults are those that are set.
type faults struct {
	mu   sync.Mutex
	rand *rand.Rand
	all  []*counted
}

// SetFaults replaces all faults. What is random depends on seed alone.
func (p *Proxy) SetFaults(seed uint64, all ...Fault) {
	p.faults.mu.Lock()
	defer p.faults.mu.Unlock()
	p.faults.rand, p.faults.all = rand.New(rand.NewPCG(seed, seed)), nil
	for _, f := range all {
		p.faults.all = append(p.faults.all, &counted{Fault: f})
	}
}

// Hits returns how many requests the faults have hit that are set.
func (p *Proxy) Hits() int {
	p.faults.mu.Lock()
	defer p.faults.mu.Unlock()
	hits := 0
	for _, f := range p.faults.all {
		hits += f.hits
	}
	return hits
}

// next counts a request, and returns the fault that hits it, if one does.
func (f *faults) next(what request) *Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.all {
		if !(Rule{Verbs: c.Verbs, Resources: c.Resources, Group: c.Group}).matches(what) {
			continue
		}
		c.seen++
		if c.seen > c.Skip && (c.Times == 0 || c.hits < c.Times) && (c.Chance == 0 || f.rand.Float64() < c.Chance) {
			c.hits++
			return &c.Fault
		}
	}
	return nil
}

// before has a request go wrong before the API server gets it: then there is a response or an error. A nil fault has nothing go wrong.
func (f *Fault) before(r *http.Request, what request) (*http.Response, error) {
	switch {
	case f == nil || f.Lost:
		return nil, nil
	case f.Status != 0:
		return refusal(r, what, f.Status)
	case f.Hit != nil:
		f.Hit()
		if r.Body != nil { // That the client is gone shows once the request has been read to its end.
			_, _ = io.Copy(io.Discard, r.Body)
		}
		<-r.Context().Done()
		return nil, errCut
	case f.Unreachable:
		return nil, errCut
	}
	return nil, nil
}

// after has an answer of the API server go wrong.
func (f *Fault) after(r *http.Request, response *http.Response) (*http.Response, error) {
	if f == nil || !f.Lost {
		return response, nil
	}
	response.Body.Close()
	if f.Hit != nil {
		f.Hit()
		<-r.Context().Done()
	}
	return nil, errCut
}

// refusal returns what the API server answers with a status.
func refusal(r *http.Request, what request, code int) (*http.Response, error) {
	resource := schema.GroupResource{Group: what.group, Resource: what.resource}
	var status metav1.Status
	header := http.Header{"Content-Type": {"application/json"}}
	switch code {
	case http.StatusForbidden:
		status = apierrors.NewForbidden(resource, "", errors.New("refused by the test")).Status()
	case http.StatusConflict:
		status = apierrors.NewConflict(resource, "", errors.New("refused by the test")).Status()
	case http.StatusGone:
		status = apierrors.NewResourceExpired("too old resource version, says the test").Status()
	case http.StatusTooManyRequests:
		status = apierrors.NewTooManyRequests("too many requests, says the test", 1).Status()
		header.Set("Retry-After", "1")
	case http.StatusServiceUnavailable:
		status = apierrors.NewServiceUnavailable("unavailable, says the test").Status()
	default:
		status = apierrors.NewInternalError(errors.New("failed by the test")).Status()
	}
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	body, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header, Request: r,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}, nil
}

// Name has the API server's audit log tell the requests through this proxy from others, and when they were sent: their ID begins with the
// name. It may be set again, which concerns later requests.
func (p *Proxy) Name(name string) { p.name.Store(&name) }

// auditID returns the ID of a request that came now, or "".
func (p *Proxy) auditID() string {
	name := p.name.Load()
	if name == nil {
		return ""
	}
	return fmt.Sprintf("%s-%d-%d", *name, time.Now().UnixNano(), p.requests.Add(1))
}

// CutWatches ends all watches that are open, without a word, and returns how many there were. Clients may begin new ones.
func (p *Proxy) CutWatches() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	cut := len(p.streams)
	for s := range p.streams {
		s.cut()
	}
	return cut
}
