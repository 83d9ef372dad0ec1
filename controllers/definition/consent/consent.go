// Package consent reads on ServiceAccounts which definitions may work as them.
package consent

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

// usedByAnnotation is on a ServiceAccount, and lists the definitions that may work as it: "CompositeController/web, MapController/*", with
// the namespace of those that have one: "CompositeController/team-a/web".
const usedByAnnotation = "libretto.dev/used-by"

const (
	// ttl is when the annotation is read again, and refusedTTL when one is that could not be read.
	ttl, refusedTTL = 10 * time.Second, 2 * time.Second
	// maxAge is how long what was read counts while the API server gives no answer.
	maxAge = 5 * time.Minute
	// timeout bounds the request.
	timeout = 10 * time.Second
	// maxAccounts is how many accounts are known before all are read again.
	maxAccounts = 1000
)

// Annotations are what accounts say about who may use them, by the annotation on each.
type Annotations struct {
	client metadata.Interface
	clock  clock.PassiveClock

	mu    sync.Mutex
	known map[identity.Account]consent
}

// consent is the annotation of an account, or why it can't be read.
type consent struct {
	usedBy string
	err    error
	read   time.Time
	until  time.Time
}

// New returns Annotations that are read by a client whose requests are made as the account of their context.
func New(client metadata.Interface, clock clock.PassiveClock) *Annotations {
	return &Annotations{client: client, clock: clock, known: map[identity.Account]consent{}}
}

// Check returns an error unless an account lets a definition use it. The nil value refuses nothing.
func (c *Annotations) Check(ctx context.Context, account identity.Account, definition controller.Key) error {
	if c == nil || account.IsHost() {
		return nil
	}
	said := c.of(ctx, account)
	if said.err != nil {
		return fmt.Errorf("spec.serviceAccountRef: %w", said.err)
	}
	own := strings.Replace(definition.Kind.Kind+"/"+definition.Namespace+"/"+definition.Name, "//", "/", 1)
	all := strings.TrimSuffix(own, definition.Name) + "*"
	var listed []string
	for entry := range strings.SplitSeq(said.usedBy, ",") {
		if entry = strings.TrimSpace(entry); entry == own || entry == all {
			return nil
		}
		if validEntry.MatchString(entry) { // The command is for a shell.
			listed = append(listed, entry)
		}
	}
	return fmt.Errorf("spec.serviceAccountRef: %s does not let %s use it, as --require-account-annotation demands: "+
		"kubectl annotate serviceaccount -n %s %s --overwrite %s='%s'",
		account, own, account.Namespace, account.Name, usedByAnnotation, strings.Join(append(listed, own), ", "))
}

// validEntry matches the entries of the annotation that are one.
var validEntry = regexp.MustCompile(`^[A-Za-z]+(/[a-z0-9-]+)?/([a-z0-9.-]+|\*)$`)

// of returns what an account says, which may be some seconds old.
func (c *Annotations) of(ctx context.Context, account identity.Account) consent {
	c.mu.Lock()
	before := c.known[account]
	c.mu.Unlock()
	now := c.clock.Now()
	if now.Before(before.until) {
		return before
	}
	said := c.ask(ctx, account)
	said.read, said.until = now, now.Add(ttl)
	isAnswer := apierrors.IsForbidden(said.err) || apierrors.IsNotFound(said.err)
	switch {
	case said.err == nil:
	case !isAnswer && before.err == nil && now.Before(before.read.Add(maxAge)):
		before.until = now.Add(refusedTTL)
		said = before
	default:
		said.until = now.Add(refusedTTL)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxAccounts {
		clear(c.known)
	}
	c.known[account] = said
	return said
}

// ask reads the annotation of an account, as the host.
func (c *Annotations) ask(ctx context.Context, account identity.Account) consent {
	ctx, cancel := context.WithTimeout(identity.WithAccount(ctx, identity.Account{}), timeout)
	defer cancel()
	accounts := c.client.Resource(corev1.SchemeGroupVersion.WithResource("serviceaccounts")).Namespace(account.Namespace)
	object, err := accounts.Get(ctx, account.Name, metav1.GetOptions{})
	switch {
	case err == nil:
		return consent{usedBy: object.Annotations[usedByAnnotation]}
	case apierrors.IsNotFound(err):
		err = fmt.Errorf("%s does not exist, so that it lets nobody use it: create it, or correct the name: %w", account, err)
	case apierrors.IsForbidden(err):
		err = fmt.Errorf("whether %s may be used is unknown: libretto rbac -f FILES --host --require-account-annotation prints what the host "+
			"needs: %w", account, err)
	default:
		err = fmt.Errorf("whether %s may be used is unknown: %w", account, err)
	}
	return consent{err: err}
}
