// Package credentials resolves the credentials of webhooks: CA bundles, client certificates, tokens,
// user names and passwords from Secrets and ConfigMaps, and ServiceAccount tokens. It keeps them up to
// date. While the current ones are invalid, the last valid ones are used.
package credentials

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/identity"
	"github.com/libretto-k8s/libretto/runtime/watchset/objectwatch"
)

// Store creates the credential bundles of all definitions of a process.
type Store struct {
	watches *objectwatch.Set
	issuer  Issuer
	clock   clock.Clock
}

// NewStore returns a Store that reads objects through watches and gets tokens from issuer.
func NewStore(watches *objectwatch.Set, issuer Issuer, clock clock.Clock) *Store {
	return &Store{watches: watches, issuer: issuer, clock: clock}
}

// Bundle holds the credentials of one field of a definition and keeps them up to date.
type Bundle struct {
	store   *Store
	spec    *v1alpha1.Credentials
	changed func()
	cancel  context.CancelFunc
	closing sync.Once

	mu        sync.Mutex
	watches   map[objectwatch.Name]*objectwatch.Watch
	token     string // Of the ServiceAccount.
	tokenErr  error  // Why there is no newer token.
	access    *engines.Access
	source    resolved // What access was made from.
	rotations int
	problem   error // Why access is not current, or nil.
}

// Open returns a bundle for spec and starts to watch, as account, what spec refers to, until Close. It returns at
// once. It calls changed after every change of State or Access; changed must not block.
func (s *Store) Open(spec *v1alpha1.Credentials, account identity.Account, changed func()) *Bundle {
	ctx, cancel := context.WithCancel(identity.WithAccount(context.Background(), account))
	b := &Bundle{store: s, spec: spec, changed: changed, cancel: cancel, watches: map[objectwatch.Name]*objectwatch.Watch{},
		problem: errPending, tokenErr: errPending}
	b.mu.Lock()
	for _, name := range objectNames(spec) {
		watched := name
		watched.Account = account
		b.watches[name] = s.watches.Open(watched, b.refresh)
	}
	b.mu.Unlock()
	if a := spec.Authorization; a != nil && a.ServiceAccountToken != nil {
		go b.renewTokens(ctx, a.ServiceAccountToken)
	}
	b.refresh()
	return b
}

// Close stops the watches. Access still returns the last valid credentials.
func (b *Bundle) Close() {
	b.closing.Do(func() {
		b.cancel()
		for _, w := range b.watches {
			w.Close()
		}
	})
}

// Access returns the last valid credentials, or an *engines.Error if there have been none.
func (b *Bundle) Access() (*engines.Access, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.access == nil {
		return nil, &engines.Error{Kind: engines.Failed, Message: "the credentials are not there: " + b.problem.Error(), Err: b.problem}
	}
	return b.access, nil
}

// State reports whether Access has credentials, and returns why the current ones are invalid, or nil.
// Equal situations have equal states.
func (b *Bundle) State() (ready bool, problem error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if errors.Is(b.problem, errPending) {
		return b.access != nil, nil
	}
	return b.access != nil, b.problem
}

// Rotations counts the changes of Access that may help a call which failed. Tokens that replaced a valid
// token before it expired are not counted.
func (b *Bundle) Rotations() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rotations
}

// refresh updates the bundle and calls changed if needed.
func (b *Bundle) refresh() {
	if b.update() {
		b.changed()
	}
}

// update resolves the credentials, and uses them if they are valid. It reports whether State or Access
// has changed.
func (b *Bundle) update() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	m, problem := resolve(b.spec, sources{read: b.read, token: b.lastToken})
	changed := problem == nil && b.setAccess(m)
	if renewal := b.token != "" && b.problem == nil; changed && !renewal {
		b.rotations++
	}
	if problem == nil && b.token != "" {
		problem = b.tokenErr
	}
	same := fmt.Sprint(problem) == fmt.Sprint(b.problem)
	b.problem = problem
	return changed || !same
}

func (b *Bundle) read(name objectwatch.Name) objectwatch.Snapshot { return b.watches[name].Read() }

// lastToken returns the last token of the ServiceAccount. It may have expired.
func (b *Bundle) lastToken() (string, error) {
	if b.token == "" {
		return "", b.tokenErr
	}
	return b.token, nil
}

// setAccess makes the access from m and reports whether it has changed. The TLS configuration stays the
// same for the same certificates, because connections depend on it.
func (b *Bundle) setAccess(m resolved) bool {
	if b.access != nil && b.source == m {
		return false
	}
	next := &engines.Access{Authorization: m.authorization}
	if b.access != nil && b.source.tls == m.tls {
		next.TLS = b.access.TLS
	} else {
		next.TLS = m.tls.config()
	}
	b.access, b.source = next, m
	return true
}
