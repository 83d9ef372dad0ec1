// Package conformance says what Libretto does, one readable file for each case:
// a definition, the objects that are there, hooks, what happens, and what comes
// of it. Each case runs through the real reconciler on a cluster in memory, on
// every engine that it has a hook for. README.md is the vocabulary.
package conformance
