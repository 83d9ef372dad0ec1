package browser

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// playground serves the playground that make site has built; without it the test is skipped.
func playground(t *testing.T) string {
	t.Helper()
	folder := "../../bin/site/playground"
	if _, err := os.Stat(folder + "/libretto.wasm.gz"); err != nil {
		t.Skip("there is no playground: make site builds it")
	}
	server := httptest.NewServer(http.FileServer(http.Dir(folder)))
	t.Cleanup(server.Close)
	return server.URL
}

// patient waits for what the host in the browser takes long for, on a machine with much else to do.
func (p tab) patient(expression string) {
	p.t.Helper()
	if _, err := chromedp.Run(p, chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingTimeout(50*time.Second))); err != nil {
		p.t.Fatalf("%v: wait for %s; the page shows\n%s", err, expression, value[string](p, "document.body.innerText"))
	}
}

// edit replaces a text in the file that the editor shows.
func (p tab) edit(old, text string) {
	p.t.Helper()
	value[chromedp.Void](p, `document.querySelector(".cm-content").focus()`)
	replaced := value[bool](p, `(() => {
		const view = document.querySelector(".cm-content").cmTile?.view ?? document.querySelector(".cm-content").cmView.rootView.view;
		const from = view.state.doc.toString().indexOf(`+quote(old)+`);
		if (from < 0) return false;
		view.dispatch({ changes: { from, to: from + `+quote(old)+`.length, insert: `+quote(text)+` } });
		return true;
	})()`)
	if !replaced {
		p.t.Fatalf("the editor does not show %s", old)
	}
}

// TestPlayground has the host in the browser greet, follow an edit, run tests, and outlive a script without end.
func TestPlayground(t *testing.T) {
	p := openFor(t, 4*time.Minute, playground(t), 1440, 900)
	began := time.Now()
	p.patient(`[...document.querySelectorAll(".node.child")].some((e) => e.textContent.includes("world"))`)
	t.Logf("from an empty page to a child: %s", time.Since(began).Round(10*time.Millisecond))
	p.picture("playground")
	p.edit("`Hello", "`Good morning")
	p.patient(`[...document.querySelectorAll(".tab")].some((e) => e.dataset.view === "tests" && e.querySelector(".badge").textContent > 0)`)
	p.click(".tab", "Tests")
	p.patient(`[...document.querySelectorAll(".case")].some((e) => e.textContent.includes("a greeting gets a ConfigMap"))`)
	p.click("#bar button", "Copy link")
	p.shows(".host-state", "copied")
	p.edit("const text =", "for (;;) {} const text =")
	p.patient(`document.querySelector(".host-state.stopped")`)
	p.press(kb.Escape)
	p.edit("for (;;) {} ", "")
	p.patient(`document.querySelector(".connection.ready")`)
	p.click(".tab", "Objects")
	p.patient(`[...document.querySelectorAll(".node.child")].some((e) => e.textContent.includes("world"))`)
}

// quote returns a text as a literal of JavaScript.
func quote(text string) string { return strconv.Quote(text) }
