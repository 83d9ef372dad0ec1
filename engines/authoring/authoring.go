// Package authoring is what authors of hooks get with the program: the module that
// scripts import as "libretto", in JavaScript and in Jsonnet with the same functions, and
// the types of it and of all hooks for editors.
//
// The engines give the module to scripts out of here, so that it always fits the host. A
// function answers the same in both languages; where one needs more than its language
// has, the engine lends it a function of this package.
package authoring

import (
	_ "embed"
	"regexp"
	"sync"
)

// JavaScript is the module for JavaScript and TypeScript, an ES module. It takes
// CallName for a function of the engine's.
//
//go:embed libretto.js
var JavaScript string

// exported matches the names of the module's functions.
var exported = regexp.MustCompile(`(?m)^export (?:function|const) (\w+)`)

// Names returns the names of the module's functions, which both languages have.
var Names = sync.OnceValue(func() []string {
	var names []string
	for _, m := range exported.FindAllStringSubmatch(JavaScript, -1) {
		names = append(names, m[1])
	}
	return names
})

// JavaScriptTest is the module for tests, libretto/test, and JavaScriptMatchers what that imports as libretto/test/matchers. They take
// StackName for a function of the engine's.
//
//go:embed test.js
var JavaScriptTest string

// JavaScriptMatchers is the part of JavaScriptTest that compares and shows values.
//
//go:embed matchers.js
var JavaScriptMatchers string

// Jsonnet is the module for Jsonnet. It needs the native function NativeName.
//
//go:embed libretto.libsonnet
var Jsonnet string

// Declarations are the types of the module and of all hooks, as a TypeScript
// declaration file.
//
//go:embed libretto.d.ts
var Declarations string

// TestDeclarations are the types of the module libretto/test.
//
//go:embed test.d.ts
var TestDeclarations string

// Project is a tsconfig.json with which scripts are checked as they run here.
//
//go:embed tsconfig.json
var Project string

// CallName is what the JavaScript module calls Call by, with a name and arguments. It is a variable of the engine's
// around the module.
const CallName = "librettoCall"

// NativeName is what the Jsonnet module calls Call by: a native function of a name and a list of arguments.
const NativeName = "$libretto"

// StackName is what the module for tests calls the function by that returns message and stack of an error. Hooks have none.
const StackName = "librettoStack"
