package browser

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var pictures = flag.String("pictures", "", "folder into which pictures of the page are written; docs/images has those that the guide shows")

// maxPicture bounds a picture, which the repository holds.
const maxPicture = 150 << 10

// tab is a page in the browser. What its script reports as an error fails the test.
type tab struct {
	context.Context
	t *testing.T
}

// open opens the page in a browser of its own; without one the test is skipped.
func open(t *testing.T, address string, width, height int64) tab {
	t.Helper()
	return openFor(t, time.Minute, address, width, height)
}

// openFor opens a page that a test takes so long with.
func openFor(t *testing.T, limit time.Duration, address string, width, height int64) tab {
	t.Helper()
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		t.Skip("there is no Chromium: install one to test the page, such as the package chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.Flag("hide-scrollbars",
		false))
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, stopTab := chromedp.NewContext(allocator)
	t.Cleanup(stopTab)
	p := tab{ctx, t}
	if err := chromedp.Listen(ctx, p.fail); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	t.Cleanup(cancel)
	p = tab{ctx, t}
	command(p, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "UTC"})
	p.do(chromedp.EmulateViewport(width, height), chromedp.Navigate(address))
	return p
}

// fail fails the test for what the page's script fails with.
func (p tab) fail(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.t.Errorf("the page's script fails: %+v", e.ExceptionDetails)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError {
			p.t.Errorf("the page logs an error: %s", e.Args[0].Value)
		}
	}
}

func command[P, R any](p tab, c cdp.Command[P, R], params P) R {
	p.t.Helper()
	result, err := chromedp.Call(p, c, params)
	if err != nil {
		p.t.Fatal(err)
	}
	return result
}

func (p tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// value returns what an expression is.
func value[T any](p tab, expression string) T {
	p.t.Helper()
	result, err := chromedp.Run(p, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%v: %s", err, expression)
	}
	return result
}

// wait waits until an expression is true.
func (p tab) wait(expression string) {
	p.t.Helper()
	p.waitFor(15*time.Second, expression)
}

// waitFor waits so long at most.
func (p tab) waitFor(limit time.Duration, expression string) {
	p.t.Helper()
	if _, err := chromedp.Run(p, chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingTimeout(limit))); err != nil {
		p.t.Fatalf("%v: wait for %s; the page shows\n%s", err, expression, value[string](p, "document.body.innerText"))
	}
}

// shows waits until an element of a selector has a text.
func (p tab) shows(selector, text string) {
	p.t.Helper()
	p.wait(fmt.Sprintf(`[...document.querySelectorAll(%q)].some((e) => e.textContent.includes(%q))`, selector, text))
}

// click clicks with the mouse on the first element of a selector with a text.
func (p tab) click(selector, text string) {
	p.t.Helper()
	p.shows(selector, text)
	at := value[[]float64](p, fmt.Sprintf(`(() => {
		const e = [...document.querySelectorAll(%q)].find((e) => e.textContent.includes(%q));
		e.scrollIntoView({ block: "nearest" });
		const r = e.getBoundingClientRect();
		return [r.x + Math.min(r.width / 2, 60), r.y + r.height / 2];
	})()`, selector, text))
	p.do(chromedp.MouseClickXY(at[0], at[1]))
}

func (p tab) press(keys string) {
	p.t.Helper()
	p.do(chromedp.KeyEvent(keys))
}

// retype replaces a part of the YAML that is edited.
func (p tab) retype(before, after string) {
	p.t.Helper()
	value[chromedp.Void](p, fmt.Sprintf(`(() => {
		const area = document.querySelector("textarea");
		area.value = area.value.replace(%q, %q);
	})()`, before, after))
}

// picture writes what the page shows, once its animations are over, if pictures are asked for.
func (p tab) picture(name string) {
	p.t.Helper()
	if *pictures == "" {
		return
	}
	p.wait(`document.getAnimations().every((a) => a.playState === "finished") && !document.querySelector(".toast")`)
	content, err := chromedp.Run(p, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	content = fewColours(p.t, content)
	if len(content) > maxPicture {
		p.t.Errorf("%s has %d bytes, at most %d", name, len(content), maxPicture)
	}
	if err := os.WriteFile(filepath.Join(*pictures, "dev-"+name+".png"), content, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// fewColours returns a picture with 256 colours, which makes it a third as large: of colours that are alike the commonest, and others
// become what is next to them.
func fewColours(t *testing.T, content []byte) []byte {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	counts, bounds := map[color.NRGBA]int{}, full.Bounds()
	reduced := image.NewPaletted(bounds, nil)
	at := func(x, y int) color.NRGBA { return color.NRGBAModel.Convert(full.At(x, y)).(color.NRGBA) }
	each := func(do func(x, y int, c color.NRGBA)) {
		for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
			for x := bounds.Min.X; x < bounds.Max.X; x++ {
				do(x, y, at(x, y))
			}
		}
	}
	each(func(_, _ int, c color.NRGBA) { counts[c]++ })
	taken := map[color.NRGBA]bool{}
	for _, c := range slices.SortedFunc(maps.Keys(counts), func(a, b color.NRGBA) int { return counts[b] - counts[a] }) {
		alike := color.NRGBA{c.R / 12, c.G / 12, c.B / 12, 255}
		if len(reduced.Palette) < 256 && (!taken[alike] || len(reduced.Palette) < 48) {
			taken[alike] = true
			reduced.Palette = append(reduced.Palette, c)
		}
	}
	nearest := map[color.NRGBA]uint8{}
	each(func(x, y int, c color.NRGBA) {
		index, known := nearest[c]
		if !known {
			index = uint8(reduced.Palette.Index(c))
			nearest[c] = index
		}
		reduced.SetColorIndex(x, y, index)
	})
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, reduced); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func (p tab) theme(name string) {
	p.t.Helper()
	p.prefer("prefers-color-scheme", name)
}

// prefer sets what the user prefers, by the name of a feature of media.
func (p tab) prefer(feature, setting string) {
	p.t.Helper()
	features := []*emulation.MediaFeature{{Name: feature, Value: setting}}
	command(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
}

// TestTreeGrows looks at objects as they come, change and go, also while the page has no connection.
func TestTreeGrows(t *testing.T) {
	b := newBackend(t, definition(), object{"synced": true})
	p := open(t, b.URL, 1440, 900)
	p.shows(".node.definition", "catset")
	p.shows(".hint", "No parents yet")
	p.picture("begin")
	b.send(sent("ADDED", "parent", "waiting", "", "", catSet("tabby", 2)))
	p.wait(`!document.querySelector(".hint").firstChild`)
	p.shows(".node.parent.waiting", "tabby")
	b.send(sent("ADDED", "child", "waiting", "starting", "catset-tabby", pod("tabby", 0)), sent("ADDED", "child", "waiting", "",
		"catset-tabby", pod("tabby", 1)))
	p.shows(".node.child.waiting .note", "starting")
	b.send(sent("MODIFIED", "child", "ready", "", "catset-tabby", pod("tabby", 0)))
	p.shows(".node.child.ready", "tabby-0")
	b.send(sent("DELETED", "child", "deleting", "", "catset-tabby", pod("tabby", 1)))
	p.wait(`![...document.querySelectorAll(".node")].some((e) => e.textContent.includes("tabby-1"))`)
	p.wait(`document.querySelector(".link")?.getAttribute("d").length > 20`)

	b.replace(definition(), sent("ADDED", "parent", "ready", "", "", catSet("siamese", 1)), object{"synced": true})
	b.CloseClientConnections()
	p.shows(".node.parent.ready", "siamese")
	p.wait(`![...document.querySelectorAll(".node")].some((e) => e.textContent.includes("tabby"))`)
	if err := b.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	b.CloseClientConnections()
	p.shows(".connection", "no connection")
}

// TestFrames looks at 200 parents and 2000 children as they come within a few seconds: the page draws all the time, and shows a child as
// soon as it is scrolled to.
func TestFrames(t *testing.T) {
	b := newBackend(t, definition(), object{"synced": true})
	p := open(t, b.URL, 1440, 900)
	p.shows(".node.definition", "catset")
	value[chromedp.Void](p, `(() => {
		window.frames = [];
		const frame = (now) => { window.frames.push(now); requestAnimationFrame(frame); };
		requestAnimationFrame(frame);
	})()`)
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	began := time.Now()
	for i := range 200 {
		name := fmt.Sprintf("set-%d", i)
		messages := []object{sent("ADDED", "parent", "waiting", "", "", catSet(name, 10))}
		for j := range 10 {
			messages = append(messages, sent("ADDED", "child", "waiting", "starting", "catset-"+name, pod(name, j)))
		}
		if i > 0 {
			before := fmt.Sprintf("set-%d", i-1)
			for j := range 10 {
				messages = append(messages, sent("MODIFIED", "child", "ready", "", "catset-"+before, pod(before, j)))
			}
		}
		b.send(append(messages, passMessage(i+1))...)
		<-ticker.C
	}
	p.wait(`document.querySelector(".node.definition .fold")?.textContent.includes("1990")`)
	took := time.Since(began)
	frames := value[[]float64](p, `window.frames`)
	longest := 0.0
	for i := range frames[1:] {
		longest = max(longest, frames[i+1]-frames[i])
	}
	rate := float64(len(frames)) / ((frames[len(frames)-1] - frames[0]) / 1000)
	elements := value[int](p, `document.querySelectorAll(".node").length`)
	t.Logf("%.0f frames a second for %s, the longest took %.0f ms; %d elements", rate, took.Round(time.Millisecond), longest, elements)
	if rate < 30 {
		t.Errorf("%.0f frames a second while the tree grows, want 30", rate)
	}
	if elements > 150 {
		t.Errorf("%d nodes are elements: only what is in sight should be", elements)
	}
	value[chromedp.Void](p, `document.querySelector(".graph").scrollTop = 1e9`)
	p.shows(".node.child", "set-199-9")
	p.shows(".node.parent", "set-199")
	p.shows(".node.definition", "catset")
	p.picture("many")
}

// TestKeyboard does all with the keyboard alone: through the tree, into an object, an edit that is refused and one that is saved, a
// deletion.
func TestKeyboard(t *testing.T) {
	b := newBackend(t, catsets()...)
	p := open(t, b.URL, 1280, 800)
	p.shows(".connection", "connected")
	p.press(kb.Tab)
	p.wait(`document.activeElement.className === "skip" && document.activeElement.getBoundingClientRect().top >= 0`)
	p.press(kb.Enter)
	for i := 0; value[string](p, `document.activeElement.className`) != "graph"; i++ {
		if p.press(kb.Tab); i > 20 {
			t.Fatal("twenty steps from the content on, the tree has no focus")
		}
	}
	p.press(kb.ArrowDown)
	p.press(kb.ArrowDown)
	p.wait(`document.getElementById(document.activeElement.getAttribute("aria-activedescendant"))?.textContent.includes("siamese")`)
	p.wait(`getComputedStyle(document.querySelector(".node.active") ?? document.body).outlineStyle === "solid"`)
	p.press(kb.ArrowLeft)
	p.wait(`document.querySelector(".node.active")?.getAttribute("aria-expanded") === "false"`)
	p.press(kb.ArrowRight)
	p.press(kb.ArrowRight)
	p.wait(`document.querySelector(".node.active")?.textContent.includes("siamese-0")`)
	p.press(kb.Enter)
	p.shows(".panel h2", "siamese-0")
	p.press("e")
	p.wait(`document.activeElement.tagName === "TEXTAREA" && !document.activeElement.value.includes("status")`)
	p.retype("name: siamese-0", "name: [")
	save := chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierCtrl))
	p.do(save)
	p.shows(".panel [role=alert]", "line ")
	p.retype("name: [", "name: siamese-0")
	p.retype("busybox:1.36", "busybox:1.37")
	p.do(save)
	p.shows(".toast", "Saved Pod siamese-0")
	written := b.writes()
	if len(written) != 1 || !strings.HasPrefix(written[0], "PUT /api/v1/namespaces/default/pods/siamese-0 ") || !strings.Contains(written[0],
		"busybox:1.37") ||
		!strings.Contains(written[0], `"resourceVersion":"41"`) {
		t.Errorf("saving has sent %q", written)
	}
	p.press("d")
	p.shows("dialog h2", "Delete Pod siamese-0?")
	p.press(kb.Enter)
	p.shows(".toast", "Deleted Pod siamese-0")
	p.press(kb.Escape)
	p.wait(`document.activeElement.className.includes("graph") && document.querySelector(".panel").hidden`)
	p.press("?")
	p.shows("dialog dt", "Enter")
	p.press(kb.Escape)
	p.press("2")
	p.shows(".tab[aria-current]", "Passes")
	p.press("/")
	p.press("siamese")
	p.wait(`[...document.querySelectorAll(".pass-row .name")].every((e) => e.textContent === "siamese")`)
}

// TestNewObject creates a parent from the example in the folder, and has a child fail.
func TestNewObject(t *testing.T) {
	b := newBackend(t, catsets()...)
	p := open(t, b.URL, 1280, 800)
	p.click("button", "New")
	p.wait(`document.querySelector("dialog textarea")?.value.includes("name: tabby-2")`)
	p.retype("tabby-2", "Bengal")
	p.click("dialog button.primary", "Create")
	p.shows("dialog [role=alert]", "a lowercase name is needed")
	p.retype("Bengal", "bengal")
	p.click("dialog button.primary", "Create")
	p.shows(".toast", "Created CatSet bengal")
	p.click(".node.child", "tabby-1")
	p.click(".ready-switch button", "failing")
	p.shows(".toast", "tabby-1 becomes failing")
	p.click(".tabs button", "Passes")
	p.shows(".panel .line-button", "2 writes")
	p.click(".node.parent", "tabby")
	p.click(".tabs button", "Events")
	p.shows(".panel .events", "Created Pod tabby-2")
	last := b.writes()
	if len(last) != 3 || !strings.HasPrefix(last[1], "POST /apis/ctl.example.com/v1/namespaces/default/catsets ") ||
		last[2] != `POST /dev/v1/ready {"apiVersion":"v1","kind":"Pod","name":"tabby-1","namespace":"default","ready":false}` {
		t.Errorf("sent is %q", last)
	}
}

// TestProblems follows a problem of the folder to its line, and sees it go; the tests are run again.
func TestProblems(t *testing.T) {
	b := newBackend(t, append(catsets(), object{"problems": []string{"sync.js:4:9: SyntaxError: unexpected token"}})...)
	p := open(t, b.URL, 1280, 800)
	p.shows(".banner", "1 problem in the folder")
	p.click(".banner a", "sync.js:4")
	p.shows(".file .line.here", "Math.floor")
	p.click("button", "Run again")
	p.wait(`performance.getEntriesByType("resource").some((r) => r.name.endsWith("/dev/v1/tests"))`)
	warning := "team/definition.yaml:3:1: warning: CompositeController team: hook finalize is never called [HookUnused]"
	b.send(object{"problems": []string{warning, "sync.js:4:9: SyntaxError: unexpected token"}})
	p.shows(".banner.failing", "2 problems in the folder")
	b.send(object{"problems": []string{warning}})
	p.shows(".banner.waiting", "1 warning in the folder")
	b.send(object{"problems": []string{}})
	p.wait(`!document.querySelector(".banner").firstChild`)
}

// TestTexts shows markup in names, messages, logs and files as the text that it is.
func TestTexts(t *testing.T) {
	const markup = `<img src=x onerror="document.title='run'"><script>document.title='run'</script>`
	b := newBackend(t, definition(), sent("ADDED", "parent", "failing", markup, "", catSet("a"+markup, 1)),
		object{"files": []object{{"path": "sync.js", "text": markup}}}, object{"problems": []string{"sync.js:1: " + markup}},
		object{"log": object{"time": at(0), "definition": markup, "hook": "sync", "parent": markup, "text": markup}}, object{"synced": true})
	p := open(t, b.URL, 1280, 800)
	p.click(".node.parent", markup)
	p.shows(".panel .message", markup)
	p.click(".tab", "Tests")
	p.shows(".file .line", markup)
	p.click(".tab", "Log")
	p.shows(".log-row .text", markup)
	p.wait(`document.querySelectorAll("img").length === 1 && !document.title.includes("run") && document.querySelectorAll("script").length === 1`)
}

// TestPreferences switches between dark and light, which is remembered, and shows nothing that moves to those who ask for that.
func TestPreferences(t *testing.T) {
	b := newBackend(t, catsets()...)
	p := open(t, b.URL, 1280, 800)
	p.prefer("prefers-reduced-motion", "reduce")
	p.shows(".connection", "connected")
	background := `getComputedStyle(document.body).backgroundColor`
	light := value[string](p, background)
	p.press("t")
	p.wait(fmt.Sprintf(`%s !== %q`, background, light))
	p.do(chromedp.Reload())
	p.shows(".connection", "connected")
	p.wait(fmt.Sprintf(`%s !== %q`, background, light))
	value[chromedp.Void](p, `(() => {
		window.moved = 0;
		const look = () => { window.moved += document.getAnimations().length; requestAnimationFrame(look); };
		look();
	})()`)
	b.send(sent("ADDED", "child", "waiting", "", "catset-tabby", pod("tabby", 8)))
	p.shows(".node.waiting", "tabby-8")
	b.send(sent("MODIFIED", "child", "ready", "", "catset-tabby", pod("tabby", 8)))
	p.shows(".node.ready", "tabby-8")
	p.wait(`window.moved === 0`)
}

// TestLive looks at a live cluster, of which the page writes nothing.
func TestLive(t *testing.T) {
	b := newBackend(t, append(catsets(), heldEdit())...)
	b.meta["live"], b.meta["edit"] = true, false
	p := open(t, b.URL, 1280, 800)
	p.shows(".live", "live cluster")
	p.click(".node.parent", "tabby")
	p.shows(".panel .code", "replicas")
	p.press("d")
	p.press("n")
	p.wait(`!document.querySelector("dialog") && [...document.querySelectorAll(".writes")].every((e) => e.getClientRects().length === 0)`)
	p.click(".tab", "Edits")
	p.shows(".commands", "libretto rollout approve catset")
}

// TestLargeRevision shows what differs from a revision that is archived in parts, of which one ends within a file.
func TestLargeRevision(t *testing.T) {
	b := newBackend(t, append(catsets(), heldEdit())...)
	half := len(served) / 2
	names := []string{strings.Repeat("a", 64), strings.Repeat("b", 64)}
	for i, files := range []map[string]string{{"sync.js": served[:half]}, {"lib.js": "export const purr = \"\u00e9\"\n", "sync.js": served[half:]}} {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if err := errors.Join(json.NewEncoder(w).Encode(files), w.Close()); err != nil {
			t.Fatal(err)
		}
		b.parts = append(b.parts, object{
			"metadata": object{"name": "catset-part", "labels": object{"metacontroller.k8s.io/script-part": names[i][:16]}},
			"data":     object{"gzip": packed.Bytes()},
		})
	}
	b.revision = object{"metadata": object{"name": "catset-8d1f0c2b7a9e4f35"}, "data": object{"parts": names}}
	p := open(t, b.URL, 1280, 800)
	p.click(".tab", "Edits")
	p.shows(".sides td.added", "Math.floor")
	b.parts = b.parts[:1]
	p = open(t, b.URL, 1280, 800)
	p.click(".tab", "Edits")
	p.shows(".changes", "What served before can't be read: a part of it is gone")
}

// TestPictures looks at each view, in both themes and on a narrow screen.
func TestPictures(t *testing.T) {
	b := newBackend(t, append(catsets(), heldEdit())...)
	b.details["40"] = passDetail(40)
	b.revision = object{"metadata": object{"name": "catset-8d1f0c2b7a9e4f35"}, "data": object{"files": object{"sync.js": served}}}
	b.explored = counterexample()
	p := open(t, b.URL, 1360, 760)
	p.shows(".connection", "connected")
	p.click(".node.parent", "tabby")
	p.shows(".panel .code", "replicas")
	p.picture("objects")
	p.click(".tab", "Passes")
	p.click(".pass-row", "tabby")
	p.shows(".pass .write", "tabby-7")
	p.picture("pass")
	p.click(".tab", "Edits")
	p.shows(".sides td.added", "Math.floor")
	p.shows(".edit .state", "held")
	p.shows(".why", "3 of 5 children of 2 parents would be deleted")
	p.picture("edit")
	p.click(".tab", "Tests")
	p.shows(".file .line.uncovered", "if (!pod) return false")
	p.shows(".file .line.partial", "Math.floor")
	p.shows(".case.failing .failure .removed", "Pod: 3")
	p.picture("tests")
	p.click(".case.failing button", "Explore")
	p.click(".counterexample .steps button", "response to the creation")
	p.shows(".counterexample .write", "Timeout")
	p.picture("counterexample")
	p.press(kb.ArrowRight)
	p.shows("dialog footer", "Step 4 of 4")
	p.shows(".counterexample .message", "the end differs")
	p.press(kb.Escape)
	p.theme("dark")
	p.wait(`getComputedStyle(document.body).backgroundColor === "rgb(19, 20, 23)"`)
	p.click(".tab", "Objects")
	p.picture("objects-dark")
	p.click(".tab", "Passes")
	p.click(".pass-row", "tabby")
	p.picture("pass-dark")
	p.click(".tab", "Edits")
	p.picture("edit-dark")
	p.click(".tab", "Tests")
	p.picture("tests-dark")
	p.theme("light")
	p.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateScale(2)))
	for _, view := range []string{"Objects", "Passes", "Edits", "Tests", "Log"} {
		p.click(".tab", view)
		p.wait(`document.documentElement.scrollWidth <= 390 && document.documentElement.scrollHeight <= 844`)
		p.picture("narrow-" + strings.ToLower(view))
	}
}
