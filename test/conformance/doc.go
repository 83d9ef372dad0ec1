// Package conformance specifies the behaviour of Libretto in one file for each case: a definition, objects,
// hooks, steps and their expected outcomes. Each case runs with the real reconciler on a cluster in memory,
// on every engine that it has a hook for. README.md describes the format.
package conformance
