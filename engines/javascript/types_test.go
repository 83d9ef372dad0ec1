package javascript

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dop251/goja"

	"github.com/libretto-k8s/libretto/engines/authoring"
)

// walkGlobals lists the globals, with their members and those of their prototypes: "Map", "Map.groupBy", "Map.prototype.get". What
// only instances have is listed as if it were the prototype's.
const walkGlobals = `(() => {
	const names = [];
	const add = (owner, of, ignored) => {
		for (const key of Reflect.ownKeys(of)) {
			const name = typeof key === "symbol" ? owner + "[" + key.description + "]" : owner + "." + key;
			ignored.includes(key) || names.push(name);
		}
	};
	const error = new Error("", { cause: 1 });
	const instances = { Array: [], String: new String(""), RegExp: /a/, Error: error, AggregateError: new AggregateError([]) };
	for (const name of Reflect.ownKeys(globalThis).filter((key) => typeof key === "string" && key !== "globalThis")) {
		const value = globalThis[name];
		names.push(name);
		if (typeof value === "function") {
			add(name, value, ["name", "length", "prototype"]);
			value.prototype && add(name + ".prototype", value.prototype, []);
			instances[name] && add(name + ".prototype", instances[name], []);
		} else if (typeof value === "object") {
			add(name, value, []);
		}
	}
	const typed = Object.getPrototypeOf(Uint8Array);
	for (const name of ["Int8Array", "Uint8Array", "Uint8ClampedArray", "Int16Array", "Uint16Array", "Int32Array", "Uint32Array", "Float32Array", "Float64Array", "BigInt64Array", "BigUint64Array"]) {
		add(name, typed, ["name", "length", "prototype"]);
		add(name + ".prototype", typed.prototype, []);
	}
	return JSON.stringify([...new Set(names)]);
})()`

// undeclared matches names that the runtime has and no type has, by the reason.
var undeclared = map[string]*regexp.Regexp{
	"goja's own":                                   regexp.MustCompile(`^GoError`),
	"TypeScript has it as syntax":                  regexp.MustCompile(`^undefined$|\.__proto__$`),
	"for classes that extend these":                regexp.MustCompile(`\[Symbol\.species\]$`),
	"no version of TypeScript has types of it yet": regexp.MustCompile(`^JSON\.(?:rawJSON|isRawJSON)$`),
	"TypeScript forgot it":                         regexp.MustCompile(`^Reflect\[|^BigInt\.prototype\.(?:length|name)$`),
}

// onlyDeclared matches names that types have and the runtime does not, by the reason. The libraries can't be had without them.
var onlyDeclared = map[string]*regexp.Regexp{
	"load warns about it": regexp.MustCompile(`^Intl`),
	"relics of browsers, which editors show as deprecated": regexp.MustCompile(`^RegExp\.(?:\$|input|last|left|right)`),
	"relics too, which make HTML":                          regexp.MustCompile(`^String\.prototype\.(?:anchor|big|blink|bold|fixed|font.*|italics|link|small|strike|su[bp])$`),
	"each iterator has its own":                            regexp.MustCompile(`^Iterator\.prototype\.(?:next|return|throw)$`),
	"only functions have it that are constructors or so":   regexp.MustCompile(`^Function\.prototype\.prototype$`),
}

// TestTypes shows that what TypeScript is told that there is, is what there is: all globals, and all members of these and of their
// prototypes.
func TestTypes(t *testing.T) {
	i := newIsolate(time.Time{}, "")
	must(i.addGlobals(slices.Collect(maps.Keys(globalParts))))
	listed, err := i.rt.RunProgram(goja.MustCompile("walk", walkGlobals, true))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	if err := json.Unmarshal([]byte(listed.String()), &names); err != nil {
		t.Fatal(err)
	}
	declared := declaredNames(t)
	var missing []string
	for name := range declared {
		if !slices.Contains(names, name) && !slices.Contains(names, inherited(name)) {
			missing = append(missing, name)
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return declared[name] || declared[inherited(name)] })
	excuse(t, "the runtime has %s, and no type has it", names, undeclared)
	excuse(t, "types have %s, and the runtime does not", missing, onlyDeclared)
}

// ofError matches members of the classes of errors, of which nearly all are those of Error.
var ofError = regexp.MustCompile(`^(?:Aggregate|Eval|Range|Reference|Syntax|Type|URI)Error\b`)

// inherited returns the name of what a member may be inherited from.
func inherited(name string) string {
	if ofError.MatchString(name) && !strings.HasSuffix(name, ".toString") && !strings.HasSuffix(name, ".constructor") {
		return ofError.ReplaceAllString(name, "Error")
	}
	_, member, isMethod := strings.Cut(name, ".prototype")
	if !isMethod {
		return name
	}
	return "Object.prototype" + member
}

// excuse reports the names that no reason is there for, and reasons that are none any more.
func excuse(t *testing.T, format string, names []string, reasons map[string]*regexp.Regexp) {
	t.Helper()
	used := map[string]bool{}
	for _, name := range names {
		excused := false
		for reason, pattern := range reasons {
			if pattern.MatchString(name) {
				excused, used[reason] = true, true
			}
		}
		if !excused {
			t.Errorf(format, name)
		}
	}
	if len(used) < len(reasons) {
		t.Errorf("of the reasons for "+format+" some are not needed: only %v are", "names", used)
	}
}

var (
	globalInterface = regexp.MustCompile(`^  (?:interface|var) (\w+?)(Constructor)?(?:<.*>)? \{$`)
	globalVariable  = regexp.MustCompile(`^  (?:var|function) (\w+)`)
	globalMember    = regexp.MustCompile(`^    (?:readonly )?(\w+)[(<:?]`)
)

// declaredNames returns what the libraries of tsconfig.json declare, and libretto.d.ts.
func declaredNames(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "types", "names.txt"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for name := range strings.FieldsSeq(string(text)) {
		names[name] = true
	}
	_, block, _ := strings.Cut(authoring.Declarations, "\ndeclare global {\n")
	owner := ""
	for line := range strings.Lines(block) {
		if found := globalInterface.FindStringSubmatch(strings.TrimSuffix(line, "\n")); found != nil {
			owner = found[1]
			if owner == "Console" {
				owner = "console"
			} else if found[2] == "" {
				owner += ".prototype"
			}
		} else if found := globalVariable.FindStringSubmatch(line); found != nil {
			names[found[1]] = true
		} else if found := globalMember.FindStringSubmatch(line); found != nil && found[1] != "new" && found[1] != "prototype" {
			names[owner+"."+found[1]] = true
		}
	}
	return names
}
