// Package hostile attacks the worker processes that scripts run in. It holds tests alone,
// and for Linux, which is where workers can be confined.
//
// The attacks are in testdata, an archive for each language (those that are too large to
// be written down are made in deep_test.go); what a script could try that has already
// found a way out of its engine is in probes_test.go and, aimed at the host, in
// hostprobes_test.go. How much text a call that fails makes is counted in texts_test.go. All
// run in pools of real workers,
// on the system as it is and once more as in a restricted pod: as an unprivileged user
// without capabilities, in a read-only root, under a filter of system calls like
// containerd's default one. What an attack does to others is counted in neighbour_test.go.
//
// Deadlines, and the memory of a call, are a fraction of those in use, so that all of it
// takes half a minute; attacks on depth and memory may then run into their deadline
// first. LIBRETTO_HOSTILE=long gives each the 2 seconds and 256 MiB that a script has by
// default. That takes minutes, and wants -timeout 30m.
package hostile
