package javascript

import (
	"bytes"
	_ "embed"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/dop251/goja"
	"github.com/evanw/esbuild/pkg/api"
	"github.com/go-sourcemap/sourcemap"
	"golang.org/x/text/encoding/unicode"

	"github.com/libretto-k8s/libretto/engines"
)

//go:embed globals.js
var globalsText string

// globalsProgram is globals.js as a function of what it takes.
var globalsProgram = sync.OnceValue(func() *goja.Program {
	const start, end = "(function (define, encodeUTF8, decodeUTF8, expandPattern) { return (", ")})"
	return goja.MustCompile(ownPath+"/globals>", start+globalsText+end, true)
})

// globalParts are the parts of globals.js, with what the code of a script has that may use them. A runtime is made for each call, so
// that those without a use would cost each call several times of what it costs to make one.
var globalParts = map[string]*regexp.Regexp{
	"groupBy":  regexp.MustCompile(`groupBy`),
	"bind":     regexp.MustCompile(`\.bind\b`),
	"patterns": regexp.MustCompile(`\bRegExp\b`),
	helpers:    regexp.MustCompile(`\bIterator\b`),
	// Whatever returns an iterator. No script can see that their prototype has no helpers if it can't have one.
	laterHelpers: regexp.MustCompile(`\b(?:keys|values|entries|matchAll)\b|Symbol\.iterator|\bfunction\*|\*[\w$\["']`),
	"weak":       regexp.MustCompile(`\bWeak(?:Map|Set)\b`),
	"texts":      regexp.MustCompile(`Text(?:En|De)coder`),
}

// helpers is the part with the methods of all iterators, and laterHelpers stands for adding it when a script first asks for one of
// them: scripts that loop over the entries of a map are many, and to make the methods takes as long as many a call.
const helpers, laterHelpers = "iterators", "iterators later"

// listsOfObjects matches functions that return lists, in spite of the names of methods that return iterators.
var listsOfObjects = regexp.MustCompile(`\bObject\.(?:keys|values|entries)\b`)

// globalsOf returns the parts that a script may use.
func globalsOf(code string) (parts []string) {
	code = listsOfObjects.ReplaceAllString(code, "")
	for _, part := range slices.Sorted(maps.Keys(globalParts)) {
		mentions := globalParts[part]
		if mentions.MatchString(code) && (part != laterHelpers || !slices.Contains(parts, helpers)) {
			parts = append(parts, part)
		}
	}
	return parts
}

// addGlobals adds parts of globals.js to the runtime.
func (i *isolate) addGlobals(parts []string) error {
	if slices.Contains(parts, laterHelpers) {
		i.addHelpersLater()
		parts = slices.DeleteFunc(slices.Clone(parts), func(part string) bool { return part == laterHelpers })
	}
	if len(parts) == 0 {
		return nil
	}
	wrapper, err := i.rt.RunProgram(globalsProgram())
	if err != nil {
		return err
	}
	given, _ := goja.AssertFunction(wrapper)
	functions, err := given(goja.Undefined(), i.rt.ToValue(i.defineHidden), i.rt.ToValue(i.encodeUTF8), i.rt.ToValue(i.decodeUTF8),
		i.rt.ToValue(i.expandPattern))
	if err != nil {
		return err
	}
	for _, part := range parts {
		add, _ := goja.AssertFunction(functions.ToObject(i.rt).Get(part))
		if _, err := add(goja.Undefined()); err != nil {
			return err
		}
	}
	return nil
}

// addHelpersLater puts something behind the prototype of iterators that adds the helpers when it is asked for one.
func (i *isolate) addHelpersLater() {
	values, _ := goja.AssertFunction(i.rt.NewArray().Get("values"))
	iterator, err := values(i.rt.NewArray())
	must(err)
	prototype := iterator.ToObject(i.rt).Prototype().Prototype()
	must(prototype.SetPrototype(i.rt.NewDynamicObject(&missingHelpers{i: i, prototype: prototype, behind: prototype.Prototype()})))
}

// helperNames are what the helpers give the prototype of iterators.
var helperNames = []string{
	"constructor", "map", "filter", "take", "drop", "flatMap", "reduce", "toArray", "forEach", "some", "every", "find",
}

// missingHelpers stands between the prototype of iterators and what was behind it.
type missingHelpers struct {
	i                 *isolate
	prototype, behind *goja.Object
}

// Get adds the helpers if it is one that is asked for.
func (h *missingHelpers) Get(name string) goja.Value {
	if !h.Has(name) {
		return nil
	}
	must(h.prototype.SetPrototype(h.behind))
	must(h.i.addGlobals([]string{helpers}))
	return h.prototype.Get(name)
}

// Has reports whether a name is that of a helper.
func (h *missingHelpers) Has(name string) bool { return slices.Contains(helperNames, name) }

// Set refuses, as an object does that can't be changed.
func (h *missingHelpers) Set(string, goja.Value) bool { return false }

// Delete deletes nothing.
func (h *missingHelpers) Delete(string) bool { return false }

// Keys returns none, because the helpers are not enumerable.
func (h *missingHelpers) Keys() []string { return nil }

// defineHidden gives an object the properties of another, which are not enumerable there, as those of the language are.
func (i *isolate) defineHidden(call goja.FunctionCall) goja.Value {
	target, properties := call.Argument(0).ToObject(i.rt), call.Argument(1).ToObject(i.rt)
	for _, name := range properties.Keys() {
		must(target.DefineDataProperty(name, properties.Get(name), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	}
	return goja.Undefined()
}

// encodeUTF8 returns the bytes of a string, in which half a surrogate pair becomes the replacement character.
func (i *isolate) encodeUTF8(call goja.FunctionCall) goja.Value {
	return i.rt.ToValue(i.rt.NewArrayBuffer([]byte(call.Argument(0).String())))
}

// decodeUTF8 returns the string of an ArrayBuffer, and whether bytes in it were replaced.
func (i *isolate) decodeUTF8(call goja.FunctionCall) goja.Value {
	buffer, ok := call.Argument(0).Export().(goja.ArrayBuffer)
	if !ok {
		panic(i.rt.NewTypeError("TextDecoder.decode: bytes are needed: an ArrayBuffer, or a view of one such as a Uint8Array"))
	}
	text, err := unicode.UTF8.NewDecoder().Bytes(buffer.Bytes())
	if err != nil {
		panic(i.rt.NewGoError(err))
	}
	return i.rt.ToValue(map[string]any{"value": string(text), "isReplaced": !utf8.Valid(buffer.Bytes())})
}

// intl is the one global that TypeScript's libraries can't be had without and the runtime lacks, and intlMark stands for it where it is
// no variable of the script's own.
const intl, intlMark = "Intl", "librettoIntl"

// uncheckedGlobals reports the first use of Intl in the author's own files, which no types find.
func (t tree) uncheckedGlobals(entry string) []*engines.Error {
	mentions := func(name string) bool { return isOwn(name) && strings.Contains(t.Files[name], intl) }
	if !slices.ContainsFunc(t.usedPaths(), mentions) {
		return nil
	}
	t.read = newCount()
	build := options(t, entry)
	build.Define = maps.Clone(defines)
	build.Define[intl] = intlMark
	var code, positions []byte
	for _, file := range api.Build(build).OutputFiles {
		if strings.HasSuffix(file.Path, ".map") {
			positions = file.Contents
		} else {
			code = file.Contents
		}
	}
	consumer, err := sourcemap.Parse(bundleName, positions)
	if err != nil || bytes.Contains(code, []byte("typeof "+intlMark)) {
		return nil // The bundle itself has been made, so that there is nothing to report; or the script asks whether it is there.
	}
	for line, text := range strings.Split(string(code), "\n") {
		file, _, at, column, ok := consumer.Source(line+1, strings.Index(text, intlMark))
		if file = stripNamespaces(file); ok && strings.Contains(text, intlMark) && isOwn(file) {
			place := engines.Location{File: file, Line: at, Column: column + 1}
			return []*engines.Error{engines.InvalidError(place, "there is no %s: %s", intl, missingGlobals[intl])}
		}
	}
	return nil
}
