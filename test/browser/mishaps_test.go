package browser

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// linkTo returns the fragment of a link that holds a value as its files.
func linkTo(t *testing.T, files any) string {
	t.Helper()
	var compressed bytes.Buffer
	w, err := flate.NewWriter(&compressed, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewEncoder(w).Encode(files); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return "#files=" + base64.RawURLEncoding.EncodeToString(compressed.Bytes())
}

// configMap is a manifest that any folder may have.
const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n"

// reload loads the page again, as a user does.
func (p tab) reload() {
	p.t.Helper()
	value[chromedp.Void](p, `{ window.isOld = true; location.reload(); }`)
	for isOld := true; isOld; {
		switch now, err := chromedp.Run(p, chromedp.Evaluate[bool](`window.isOld === true`)); {
		case err == nil:
			isOld = now
		case p.Err() != nil: // Otherwise there is no page between the two.
			p.t.Fatal(err)
		}
	}
}

// TestLinks opens links that were cut, or that somebody has made in bad faith, and then one that is good, in a page that is open.
func TestLinks(t *testing.T) {
	good := linkTo(t, map[string]string{"mine.yaml": configMap})
	address := playground(t) + "/"
	p := openFor(t, 3*time.Minute, address+good[:len(good)-8], 1440, 900)
	p.shows(".toast", "The link can't be read")
	p.shows(".file", "hello.yaml")
	paste := func(fragment string) {
		t.Helper()
		value[chromedp.Void](p, `{ document.querySelector(".toasts").replaceChildren(); location.hash = `+quoted(t, fragment)+`; }`)
	}
	for name, files := range map[string]any{
		"no files": nil, "no texts": []int{1}, "a bomb": map[string]string{"a.yaml": strings.Repeat(" ", 64<<20)},
		"above": map[string]string{"../a.yaml": configMap}, "empty": map[string]string{"": configMap}, "folder": map[string]string{"a/": ""},
		"below a file": map[string]string{"a": "", "a/b.yaml": configMap}, "lines": map[string]string{"a\nb.yaml": configMap},
	} {
		t.Log(name)
		paste(linkTo(t, files))
		p.shows(".toast", "The link can't be read")
	}
	paste(good + ").") // With what followed it in a text.
	p.shows(".file", "mine.yaml")
	p.patient(`[...document.querySelectorAll(".connection.ready")].length > 0`)
	p.edit("name: a", "name: edited")
	p.click(".tab", "Tests")
	p.reload()
	p.shows(".cm-line", "name: edited")
	value[chromedp.Void](p, `{ history.back(); }`)
	p.wait(`location.hash.startsWith("#files=")`)
	p.shows(".cm-line", "name: edited")
}

// quoted returns a text as JavaScript has it.
func quoted(t *testing.T, text string) string {
	t.Helper()
	encoded, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

// pick chooses an example.
func (p tab) pick(name string) {
	p.t.Helper()
	value[chromedp.Void](p, `{
		const picker = document.querySelector("#bar select");
		picker.value = `+quoted(p.t, name)+`;
		picker.dispatchEvent(new Event("change"));
	}`)
}

// TestSwitching goes from files to others before their host is ready, and back.
func TestSwitching(t *testing.T) {
	address := playground(t) + "/"
	p := openFor(t, 3*time.Minute, address+linkTo(t, map[string]string{"mine.yaml": "a: ["}), 1440, 900)
	p.patient(`document.querySelector(".banner")?.textContent.includes("is not closed")`)
	p.pick("examples/hello")
	p.pick("new/composite-js")
	p.shows(".file", "sync.js")
	p.patient(`document.querySelector(".host-state").textContent === "The host starts"`)
	p.edit("export", "this is no script; export") // Is saved to the host that comes next, and to no other.
	p.pick("examples/hello")
	p.patient(`[...document.querySelectorAll(".node.child")].some((e) => e.textContent.includes("world"))`)
	p.wait(`document.querySelector(".banner").textContent === ""`) // What was wrong with the first files.
	p.click(".tab", "Tests")
	p.wait(`![...document.querySelectorAll(".detail.file option")].some((e) => e.value === "sync.js")`)
	p.wait(`[...document.querySelectorAll(".detail.file button")].every((e) => e.textContent !== "Edit" || !e.offsetParent)`)
	p.pick("") // What was edited is still there.
	p.shows(".cm-line", "this is no script")
}

// TestOffline has the server go away, at the beginning and later.
func TestOffline(t *testing.T) {
	playground(t)
	var missing atomic.Value // Is a part of the addresses that are not answered.
	missing.Store("wasm_exec.js")
	files := http.FileServer(http.Dir("../../bin/site/playground"))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, missing.Load().(string)) {
			panic(http.ErrAbortHandler)
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p := openFor(t, 3*time.Minute, server.URL, 1440, 900)
	p.patient(`Boolean(document.querySelector(".host-state.failed"))`)
	missing.Store("worker.js")
	p.edit("`Hello", "`Good morning")
	p.patient(`document.querySelector(".host-state.failed")?.textContent.includes("worker can't be loaded")`)
	missing.Store("folders/")
	p.edit("`Good morning", "`Good evening")
	p.patient(`[...document.querySelectorAll(".node.child")].some((e) => e.textContent.includes("world"))`)
	p.pick("new/composite-js")
	p.shows(".toast", "can't be loaded")
	p.wait(`document.querySelector("#bar select").value === "examples/hello"`)
	value[chromedp.Void](p, `{ navigator.clipboard.writeText = () => Promise.reject(new Error("no")); }`)
	p.click("#bar button", "Copy link")
	p.shows(".host-state", "in the address bar")
	p.wait(`location.hash.startsWith("#files=")`)
}

// TestAnotherFolder has the command started again for a folder without the problems of the one before.
func TestAnotherFolder(t *testing.T) {
	b := newBackend(t, append(catsets(), object{"problems": []string{"sync.js:4:9: SyntaxError: unexpected token"}})...)
	p := open(t, b.URL, 1280, 800)
	p.shows(".banner", "1 problem in the folder")
	b.replaceFolder("tabby", definition(), object{"synced": true})
	b.CloseClientConnections()
	p.wait(`!document.querySelector(".banner").firstChild`)
	p.shows(".folder", "tabby")
}

// TestChangedMeanwhile saves a file in the page that another editor has saved since.
func TestChangedMeanwhile(t *testing.T) {
	b := newBackend(t, definition(), object{"files": []object{{"path": "sync.js", "text": "one"}}}, object{"synced": true})
	p := open(t, b.URL+"/#tests/sync.js", 1280, 800)
	p.click(".file button", "Edit")
	p.retype("one", "two")
	b.send(object{"files": []object{{"path": "sync.js", "text": "three"}}, "problems": []string{"read"}})
	p.shows(".banner", "read")
	p.click(".file button", "Save")
	p.shows(".toast", "has changed in the folder meanwhile")
	if writes := b.writes(); len(writes) > 0 {
		t.Errorf("written is %q", writes)
	}
	p.click(".file button", "Save") // Once more, as one who knows.
	p.shows(".toast", "Saved sync.js")
}

// TestLargeObject shows the beginning of an object with more lines than a browser can draw, as it is and as it was written.
func TestLargeObject(t *testing.T) {
	large := catSet("tabby", 2)
	large["status"] = object{"numbers": make([]int, 60_000)}
	b := newBackend(t, definition(), sent("ADDED", "parent", "ready", "", "", large), object{"synced": true})
	b.details["1"] = object{"id": 1, "time": at(0), "durationMillis": 1, "definition": "CompositeController catset",
		"parent": object{"kind": "CatSet", "name": "tabby"},
		"writes": []object{{"verb": "create", "kind": "CatSet", "name": "tabby", "after": large}}}
	p := open(t, b.URL, 1280, 800)
	p.click(".node.parent", "tabby")
	p.shows(".panel .line.cut", "more lines")
	value[chromedp.Void](p, `{ location.hash = "#passes/1"; }`)
	p.shows(".write .line.cut", "more lines")
	p.wait(`document.querySelectorAll("*").length < 100_000`)
}

// slowWorker is a host that takes six seconds to start and is then busy for eleven, as on a slow machine.
const slowWorker = `
let busy = true;
onmessage = ({ data }) => {
	if (data.start) setTimeout(() => { postMessage({ ready: true }); setTimeout(() => {
		busy = false;
		postMessage({ message: '{"problems": ["it was read"]}' });
	}, 11_000); }, 6000);
	else if (data.ping && !busy) postMessage({ pong: 1 });
};`

// TestSlowMachine does not take a host that is slow from its start for one that has a script without end.
func TestSlowMachine(t *testing.T) {
	playground(t)
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir("../../bin/site/playground")))
	mux.HandleFunc("/worker.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = w.Write([]byte(slowWorker)) // A browser that has gone needs no worker.
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	p := openFor(t, 2*time.Minute, server.URL, 1440, 900)
	p.patient(`document.querySelector(".banner")?.textContent.includes("it was read") || Boolean(document.querySelector(".host-state.stopped"))`)
	p.wait(`!document.querySelector(".host-state.stopped")`)
	p.pick("new/composite-js") // What the host was asked and has not answered concerns nobody any more.
	p.shows(".file", "sync.js")
	if said := value[string](p, `document.querySelector(".toasts").textContent`); said != "" {
		t.Errorf("the page says %q", said)
	}
}
