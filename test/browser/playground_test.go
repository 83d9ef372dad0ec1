package browser

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
	p.waitFor(50*time.Second, expression)
}

// edit replaces a text in the file that the editor shows.
func (p tab) edit(old, text string) {
	p.t.Helper()
	value[chromedp.Void](p, `document.querySelector(".cm-content").focus()`)
	replaced := value[bool](p, `(() => {
		const view = document.querySelector(".cm-content").cmTile?.view ?? document.querySelector(".cm-content").cmView.rootView.view;
		const from = view.state.doc.toString().indexOf(`+strconv.Quote(old)+`);
		if (from < 0) return false;
		view.dispatch({ changes: { from, to: from + `+strconv.Quote(old)+`.length, insert: `+strconv.Quote(text)+` } });
		return true;
	})()`)
	if !replaced {
		p.t.Fatalf("the editor does not show %s", old)
	}
}

// TestPlayground has the host in the browser greet, follow an edit, run tests, hold a loop without end, and outlive what nothing interrupts.
func TestPlayground(t *testing.T) {
	p := openFor(t, 4*time.Minute, playground(t), 1440, 900)
	began := time.Now()
	p.patient(`[...document.querySelectorAll(".node.child")].some((e) => e.textContent.includes("world"))`)
	t.Logf("from an empty page to a child: %s", time.Since(began).Round(10*time.Millisecond))
	p.shows(".folder", "playground")
	value[chromedp.Void](p, `{
		document.addEventListener("securitypolicyviolation", (e) => { window.refused = e.effectiveDirective; });
		fetch("https://example.com").catch(() => {});
	}`)
	p.wait(`window.refused === "connect-src"`) // Nothing leaves the browser.
	p.edit("`Hello", "`Good morning")
	p.click(".file", "greeting.yaml") // What was typed before is saved, too.
	p.shows(".cm-line", "spec: {who: world}")
	p.patient(`[...document.querySelectorAll(".tab")].some((e) => e.dataset.view === "tests" && e.querySelector(".badge").textContent > 0)`)
	p.click(".tab", "Tests")
	p.patient(`[...document.querySelectorAll(".case")].some((e) => e.textContent.includes("a greeting gets a ConfigMap"))`)
	p.click("button.file", "hello.yaml")
	p.edit("parent.spec.who", "parent.spec.wo")
	p.patient(`Boolean(document.querySelector(".cm-lintRange-error"))`)
	value[chromedp.Void](p, `document.activeElement.blur()`)
	p.picture("playground")
	p.edit("parent.spec.wo", "parent.spec.who")
	p.patient(`!document.querySelector(".cm-lintRange-error")`)
	p.click("#bar button", "Copy link")
	p.shows(".host-state", "copied")
	p.edit("const text =", "for (;;) {} const text =")
	p.click(".tab", "Objects")
	p.patient(`document.querySelector("#page").textContent.includes("did not answer before its deadline")`)
	const twice = "(function f(n) { return n ? f(n - 1) + f(n - 1) : 0 })(90); "
	p.edit("for (;;) {} ", twice)
	p.patient(`Boolean(document.querySelector(".host-state.stopped"))`)
	p.press(kb.Escape)
	p.edit(twice, "")
	p.patient(`Boolean(document.querySelector(".connection.ready"))`)
	p.click(".tab", "Objects")
	p.patient(`[...document.querySelectorAll(".node.child")].some((e) => e.textContent.includes("world"))`)
}

// TestNewController makes a controller of one's own of what libretto init writes.
func TestNewController(t *testing.T) {
	p := openFor(t, 2*time.Minute, playground(t)+"/?open=new/composite-js", 1440, 900)
	began := time.Now()
	child := func(name string) string {
		return `[...document.querySelectorAll(".node.child")].some((e) => e.textContent.includes(` + strconv.Quote(name) + `))`
	}
	p.patient(child("example"))
	t.Logf("from an empty page to the children of the template: %s", time.Since(began).Round(10*time.Millisecond))
	began = time.Now()
	p.edit("service({ name,", `service({ name: name + "-web",`)
	p.patient(child("example-web"))
	t.Logf("from an edit to its child: %s", time.Since(began).Round(10*time.Millisecond))
}

// TestPlaygroundOfGuide opens a script of the guide, which has no files of its own, and makes what it shows.
func TestPlaygroundOfGuide(t *testing.T) {
	p := openFor(t, 2*time.Minute, playground(t)+"/?open=guide/finalize", 390, 844)
	p.patient(`["a", "b", "c"].every((name) => [...document.querySelectorAll(".node.child")].some((e) => e.textContent.includes(name)))`)
	p.shows(".file", "scripts/hooks.js")
}

// TestCasesInWebAssembly runs the cases of all examples and recipes by the host that is compiled for a browser, in Node, and by the program:
// the outcomes are the same.
func TestCasesInWebAssembly(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no Node.js")
	}
	playground(t)
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := "../../"
	outcomes := func(program string, args ...string) (all []string) {
		t.Helper()
		command := exec.Command(program, args...)
		command.Dir = root
		text, _ := command.Output() // A folder without tests, or one that fails, is the same in both.
		var report struct {
			Results []struct{ File, Name, Outcome string }
		}
		_ = json.Unmarshal(text, &report)
		for _, r := range report.Results {
			all = append(all, r.File+": "+r.Name+": "+r.Outcome)
		}
		return all
	}
	compiled := []string{"--stack-size=8192", filepath.Join(strings.TrimSpace(string(goroot)), "lib/wasm/wasm_exec_node.js"), "bin/libretto.wasm"}
	cases := 0
	for _, pattern := range []string{"examples/*", "docs/cookbook/*"} {
		folders, err := filepath.Glob(root + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, folder := range folders {
			if info, err := os.Stat(folder); err != nil || !info.IsDir() {
				continue
			}
			args := []string{"test", "-o", "json", strings.TrimPrefix(folder, root)}
			native := outcomes("bin/libretto", args...)
			if got := outcomes(node, append(slices.Clip(compiled), args...)...); !slices.Equal(native, got) {
				t.Errorf("%s in WebAssembly: %q, want %q", folder, got, native)
			}
			cases += len(native)
		}
	}
	if cases == 0 {
		t.Error("there are no cases: is there no bin/libretto?")
	}
	t.Logf("%d cases", cases)
}
