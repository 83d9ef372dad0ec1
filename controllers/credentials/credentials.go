// Package credentials gives webhooks what their servers are known by and what
// these are shown: certificates, tokens, user names and passwords from Secrets and
// ConfigMaps, and tokens of ServiceAccounts. All are kept up to date, and what was
// good last goes on while what is there now is not.
package credentials

import (
	"context"
	"errors"
	"sync"

	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/shared/single"
)

// Keeper keeps the credentials of all definitions of a process.
type Keeper struct {
	watches *single.Watches
	issuer  Issuer
	clock   clock.Clock
}

// NewKeeper reads objects by watches and has tokens made by issuer.
func NewKeeper(watches *single.Watches, issuer Issuer, clock clock.Clock) *Keeper {
	return &Keeper{watches: watches, issuer: issuer, clock: clock}
}

// Held are the credentials of one field of a definition, kept up to date.
type Held struct {
	keeper  *Keeper
	given   *v1alpha1.Credentials
	changed func()
	cancel  context.CancelFunc
	closing sync.Once

	mu        sync.Mutex
	watches   map[single.Name]*single.Watch
	token     string // of the ServiceAccount
	refused   error  // why there is no newer token
	access    *engines.Access
	made      material // that access is of
	rotations int
	problem   error // why access is not of what is there now, or nil
}

// Open begins to keep credentials, until they are closed, and returns at once.
// After every change of what State gives it calls changed, which must not block.
func (k *Keeper) Open(given *v1alpha1.Credentials, changed func()) *Held {
	ctx, cancel := context.WithCancel(context.Background())
	h := &Held{keeper: k, given: given, changed: changed, cancel: cancel, watches: map[single.Name]*single.Watch{}, problem: errPending, refused: errPending}
	h.mu.Lock()
	for _, name := range names(given) {
		h.watches[name] = k.watches.Open(name, h.renew)
	}
	h.mu.Unlock()
	if a := given.Authorization; a != nil && a.ServiceAccountToken != nil {
		go h.keepToken(ctx, a.ServiceAccountToken)
	}
	h.renew()
	return h
}

// Close ends it. Access goes on to give what was good last.
func (h *Held) Close() {
	h.closing.Do(func() {
		h.cancel()
		for _, w := range h.watches {
			w.Close()
		}
	})
}

// Access gives what was good last, and an *engines.Error while nothing has been.
func (h *Held) Access() (*engines.Access, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.access == nil {
		return nil, &engines.Error{Kind: engines.Failed, Message: "the credentials are not there: " + h.problem.Error(), Err: h.problem}
	}
	return h.access, nil
}

// State says whether there is something to call with, and what is wrong with what
// is there now, or nil. Equal situations give equal states.
func (h *Held) State() (ready bool, problem error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if errors.Is(h.problem, errPending) {
		return h.access != nil, nil
	}
	return h.access != nil, h.problem
}

// Rotations counts the changes of what Access gives that may help a call which
// failed: all but tokens that took the place of good ones before they expired.
func (h *Held) Rotations() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rotations
}

// renew makes the access of what is there now, if that is good.
func (h *Held) renew() {
	if h.renewed() {
		h.changed()
	}
}

// renewed says whether State has changed, or what Access gives.
func (h *Held) renewed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	m, problem := assemble(h.given, sources{read: h.read, token: h.newest})
	adopted := problem == nil && h.adopt(m)
	if renewal := h.token != "" && h.problem == nil; adopted && !renewal {
		h.rotations++
	}
	if problem == nil && h.token != "" {
		problem = h.refused
	}
	same := text(problem) == text(h.problem)
	h.problem = problem
	return adopted || !same
}

func (h *Held) read(name single.Name) single.Reading { return h.watches[name].Read() }

// newest gives the last token of the ServiceAccount, which may be past its time.
func (h *Held) newest() (string, error) {
	if h.token == "" {
		return "", h.refused
	}
	return h.token, nil
}

// adopt makes the access of m, and says whether that is another one. The TLS
// configuration stays the same for the same certificates: connections depend on it.
func (h *Held) adopt(m material) bool {
	if h.access != nil && h.made == m {
		return false
	}
	next := &engines.Access{Authorization: m.authorization}
	if h.access != nil && h.made.trust == m.trust {
		next.TLS = h.access.TLS
	} else {
		next.TLS = m.trust.config()
	}
	h.access, h.made = next, m
	return true
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
