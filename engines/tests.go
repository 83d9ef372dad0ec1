package engines

// TestFiles are the files with tests of functions that an engine runs.
type TestFiles struct {
	// Endings are those of the files' names, such as ".test.js". The part after the last dot is one of the engine's extensions.
	Endings []string
	// ByPath is set if a file is an object of tests, which their paths in it identify. Otherwise it lists them.
	ByPath bool
}

// HookTest is the hook of a script that is a file of tests. An engine of scripts compiles such a program from the file, which
// needs no function of that name, and package functiontest calls it:
//
// A file that lists its tests answers {} with the list, which are [{name, mode, timeout, stack}], and {run: [INDEX]} with results,
// [{message, expected, actual, stack, logs}]: expected and actual are texts, stack is as in Error, and logs is how many lines were
// logged by then. One without a message has passed.
//
// A file whose tests are identified by their paths answers {paths: [PATH]} with what is there, [{type, fields, line, column}], and {run:
// [PATH]} with results, [{equal, expected, actual}]. A path is a list of names of fields.
const HookTest = "test"
