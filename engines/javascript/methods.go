package javascript

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dop251/goja"

	"github.com/libretto-k8s/libretto/engines/authoring"
)

// builtIns are the language's objects whose functions scripts call, and the classes of values whose methods they call.
var builtIns = []string{"Object", "Array", "String", "Number", "Math", "JSON", "Date", "Map", "Set", "Promise", "RegExp", "Reflect",
	"Symbol", "Iterator"}

// methodsOf returns the names that a call of a member of receiver may have meant: those of an object of the language, the matchers of a
// test, or else the methods of all values, because nothing tells which value the receiver was.
func methodsOf(receiver string) []string {
	if strings.HasPrefix(receiver, "expect(") {
		return matchers()
	}
	i := newIsolate(time.Time{}, "")
	must(i.addGlobals(slices.Collect(maps.Keys(globalParts))))
	rt := i.rt
	if slices.Contains(builtIns, receiver) {
		return rt.Get(receiver).ToObject(rt).GetOwnPropertyNames()
	}
	var names []string
	for _, class := range builtIns {
		if prototype, ok := rt.Get(class).ToObject(rt).Get("prototype").(*goja.Object); ok {
			names = append(names, prototype.GetOwnPropertyNames()...)
		}
	}
	return names
}

// matcher matches the declaration of a matcher of the module libretto/test.
var matcher = regexp.MustCompile(`(?m)^ +(to\w+)\(`)

// matchers returns the names of the matchers of the module libretto/test.
var matchers = sync.OnceValue(func() []string {
	var names []string
	for _, found := range matcher.FindAllStringSubmatch(authoring.TestDeclarations, -1) {
		names = append(names, found[1])
	}
	return names
})
