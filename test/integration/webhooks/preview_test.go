package webhooks

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// repreviewed is a time in which a held webhook is previewed again.
const repreviewed = 4 * env.Timeout

// previewed returns the hook of a URL that may be called for its answer alone.
func previewed(url string) string {
	return fmt.Sprintf("{webhook: {url: %q, sideEffects: None, timeout: 5s}}", url)
}

// forgetful answers that there are no children.
func forgetful(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"children": []}`) }

// children returns the UIDs of the ConfigMaps of the Things.
func children(e *env.Env, names ...string) []string {
	e.T.Helper()
	var all []string
	for _, name := range names {
		if child := e.Get(env.ConfigMaps, name); child != nil {
			all = append(all, string(child.GetUID()))
		}
	}
	return all
}

// newServed returns a definition with a webhook that says one, and three Things.
func newServed(t *testing.T, e *env.Env, set string) (definition string, first *server) {
	t.Helper()
	first = serve(t, nil)
	first.says(wanting("one"))
	definition = define(e, set, webhook(first.URL), "")
	for n := range 3 {
		applyThing(e, set, fmt.Sprint(set, n))
		waitForValue(e, fmt.Sprint(set, n), "one")
	}
	e.WaitForCondition(definition, "Ready", "True")
	return definition, first
}

// TestPreviewedURL changes the URL of a webhook to a server that forgets the children, which is held until the server is mended.
func TestPreviewedURL(t *testing.T) {
	e := env.NewRunning(t)
	definition, first := newServed(t, e, "url")
	before := children(e, "url0", "url1", "url2")
	second := serve(t, nil)
	second.says(forgetful)
	define(e, "url", previewed(second.URL), "")
	held := e.WaitForCondition(definition, "Progressing", "False", "Held", "it would delete 3 of 3 children of 3 of 3 parents, first ConfigMap ",
		"generation 1 of the spec goes on serving", "correct the server or the definition", "kubectl annotate --overwrite compositecontroller "+definition)
	e.WaitForCondition(definition, "Ready", "False", "EarlierSpecServes", "it would delete 3 of 3 children")
	e.WaitForEvent(definition, "Held", "it would delete 3 of 3 children")
	if calls := second.called(); calls != 3 && calls != 6 { // 30 seconds may just have passed.
		t.Errorf("the new server was called %d times, want once for each Thing", calls)
	}
	first.says(wanting("still one"))
	e.Patch(e.Things(), "url0", `{"spec": {"edited": "yes"}}`)
	waitForValue(e, "url0", "still one")
	if now := children(e, "url0", "url1", "url2"); !slices.Equal(now, before) {
		t.Fatalf("%s: children %q, before %q", held.Message, now, before)
	}

	second.says(wanting("two")) // No edit tells of it.
	cluster.Eventually(t, repreviewed, func() error { return env.HasField("two", "data", "value")(e.Get(env.ConfigMaps, "url0")) })
	e.WaitForCondition(definition, "Progressing", "True", "Serving")
	e.WaitForCondition(definition, "Ready", "True")
	if now := children(e, "url0", "url1", "url2"); !slices.Equal(now, before) {
		t.Errorf("the mended server: children %q, before %q", now, before)
	}
}

// TestPreviewedServerThatIsDown names a server that is not up yet: the one before goes on, until the new one is.
func TestPreviewedServerThatIsDown(t *testing.T) {
	e := env.NewRunning(t)
	definition, first := newServed(t, e, "down")
	second := serve(t, nil)
	second.says(wanting("two"))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	env.NoError(t, err)
	address := listener.Addr().String()
	env.NoError(t, listener.Close())
	define(e, "down", previewed("http://"+address), "")
	held := e.WaitForCondition(definition, "Progressing", "False", "Held", "3 of 3 parents that succeed now would fail, first Thing ", "connection refused")
	if strings.Contains(held.Message, "request ") {
		t.Errorf("the message names a request, so that it changes with each preview: %s", held.Message)
	}
	e.Restart() // The status keeps the spec that serves.
	first.says(wanting("still one"))
	e.Patch(e.Things(), "down0", `{"spec": {"edited": "yes"}}`)
	waitForValue(e, "down0", "still one")
	e.WaitForCondition(definition, "Progressing", "False", "Held", "connection refused")
	if n := len(children(e, "down0", "down1", "down2")); n != 3 {
		t.Fatalf("%d children are left after a restart, want 3", n)
	}
	listener, err = net.Listen("tcp", address)
	env.NoError(t, err)
	up := &http.Server{Handler: second.Config.Handler} //nolint:gosec // It serves this test alone.
	t.Cleanup(func() { _ = up.Close() })
	go func() { _ = up.Serve(listener) }()
	cluster.Eventually(t, repreviewed, func() error { return env.HasField("two", "data", "value")(e.Get(env.ConfigMaps, "down0")) })
}

// TestPreviewedSwap makes a webhook of a script, and lets it through by name.
func TestPreviewedSwap(t *testing.T) {
	e := env.NewRunning(t)
	name := define(e, "swap", fmt.Sprintf("{version: v2, script: {engine: JavaScript, inline: %s}}", script("one")), "")
	for n := range 3 {
		applyThing(e, "swap", fmt.Sprint("swap", n))
		waitForValue(e, fmt.Sprint("swap", n), "one")
	}
	server := serve(t, nil)
	server.says(forgetful)
	define(e, "swap", previewed(server.URL), "")
	held := e.WaitForCondition(name, "Progressing", "False", "Held", "it would delete 3 of 3 children", " goes on serving")
	if now := children(e, "swap0", "swap1", "swap2"); len(now) != 3 {
		t.Fatalf("%d children are left", len(now))
	}
	_, command, _ := strings.Cut(held.Message, "kubectl annotate ")
	e.Kubectl(append([]string{"annotate"}, strings.Fields(command)...)...)
	e.Eventually(func() error {
		if left := children(e, "swap0", "swap1", "swap2"); len(left) > 0 {
			return fmt.Errorf("children %q are left", left)
		}
		return nil
	})

	// And back: the script would make all of them again, which destroys nothing.
	define(e, "swap", fmt.Sprintf("{version: v2, script: {engine: JavaScript, inline: %s}}", script("three")), "")
	waitForValue(e, "swap0", "three")
	e.WaitForCondition(name, "Progressing", "True", "Serving")
}

// TestUnpreviewedURL changes the URL of a webhook of which nothing is known: the new server is called for what it answers, and not before, and
// the guard stops what it deletes.
func TestUnpreviewedURL(t *testing.T) {
	e := env.NewRunning(t)
	definition, _ := newServed(t, e, "plain")
	second := serve(t, nil)
	second.says(forgetful)
	define(e, "plain", webhook(second.URL), "")
	held := e.WaitForCondition(definition, "Progressing", "False", "Held", "it would delete 2 of 3 children", "1 are gone, and no more are deleted")
	if left := children(e, "plain0", "plain1", "plain2"); len(left) != 2 {
		t.Errorf("children %q are left", left)
	}
	_, command, _ := strings.Cut(held.Message, "kubectl annotate ")
	e.Kubectl(append([]string{"annotate"}, strings.Fields(command)...)...)
	e.Eventually(func() error {
		if left := children(e, "plain0", "plain1", "plain2"); len(left) > 0 {
			return fmt.Errorf("children %q are left", left)
		}
		return nil
	})
	e.WaitForCondition(definition, "Ready", "True")
}

// TestForgetfulServer has a server forget all children, without an edit: spec.deletionGuard has a number of them stay until it is mended.
func TestForgetfulServer(t *testing.T) {
	e := env.NewRunning(t)
	server := serve(t, nil)
	server.says(wanting("one"))
	definition := define(e, "forgets", webhook(server.URL), "deletionGuard: {maxDeletedChildren: 1}\nresyncPeriodSeconds: 1")
	names := []string{"forgets0", "forgets1", "forgets2"}
	for _, name := range names {
		applyThing(e, "forgets", name)
		waitForValue(e, name, "one")
	}
	e.WaitForCondition(definition, "Ready", "True")
	server.says(forgetful)
	e.WaitForCondition(definition, "Progressing", "False", "Held", "it would delete 2 of 3 children",
		"more than spec.deletionGuard.maxDeletedChildren: 1 allows", "1 are gone", "mend what the hooks were given")
	e.WaitForQuiet()
	if left := children(e, names...); len(left) != 2 {
		t.Errorf("%d of 3 children are left", len(left))
	}
	server.says(wanting("two"))
	for _, name := range names {
		waitForValue(e, name, "two")
	}
	e.WaitForCondition(definition, "Ready", "True")
}

// TestPreviewsOfSlowTenants has two definitions take all previews that a host makes at once, with servers that do not answer: an edit of a third
// one that deletes all children waits for its turn, and is held then.
func TestPreviewsOfSlowTenants(t *testing.T) {
	e := env.NewRunning(t)
	third := define(e, "third", fmt.Sprintf("{version: v2, script: {engine: JavaScript, inline: %s}}", script("one")), "")
	names := []string{"third0", "third1", "third2"}
	for _, name := range names {
		applyThing(e, "third", name)
		waitForValue(e, name, "one")
	}
	answer := make(chan struct{})
	answers := sync.OnceFunc(func() { close(answer) })
	for _, set := range []string{"slow", "slower"} {
		newServed(t, e, set)
		silent := serve(t, nil)
		t.Cleanup(answers) // Before the server closes, which waits for what is under way.
		silent.says(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-answer:
			case <-r.Context().Done():
			}
			wanting("two")(w, r)
		})
		define(e, set, strings.Replace(previewed(silent.URL), "5s", "25s", 1), "")
		e.Eventually(func() error {
			if silent.called() == 0 {
				return errors.New("its preview has not begun")
			}
			return nil
		})
	}
	before := children(e, names...)
	define(e, "third", fmt.Sprintf("{version: v2, script: {engine: JavaScript, inline: %s}}", env.Quote("export const sync = () => ({children: []})")), "")
	e.WaitForCondition(third, "Accepted", "True") // The host has read it.
	e.WaitForQuiet()
	if now := children(e, names...); !slices.Equal(now, before) {
		t.Fatalf("children %q, before %q: the edit did not wait for its preview", now, before)
	}
	answers()
	e.WaitForCondition(third, "Progressing", "False", "Held", "it would delete 3 of 3 children of 3 of 3 parents")
	if now := children(e, names...); !slices.Equal(now, before) {
		t.Errorf("children %q, before %q", now, before)
	}
	waitForValue(e, "slow0", "two")
	waitForValue(e, "slower0", "two")
}
