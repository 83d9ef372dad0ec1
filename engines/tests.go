package engines

// HookTest is the hook of a script that is a file of tests. An engine of scripts compiles such a program from the file, which
// needs no function of that name, and package functiontest calls it:
//
// JavaScript answers {} with the list of tests, which are [{name, mode, timeout, stack}], and {run: [INDEX]} with results,
// [{message, expected, actual, stack, logs}]: expected and actual are texts, stack is as in Error, and logs is how many lines were
// logged by then. One without a message has passed.
//
// Jsonnet answers {paths: [PATH]} with what is there, [{type, fields, line, column}], and {run: [PATH]} with results,
// [{equal, expected, actual}]. A path is a list of names of fields.
const HookTest = "test"
