// Package bench measures what a sync costs in the real reconcile core, on caches
// that are filled from memory and with hooks that answer at once, so that nothing
// but the core is measured. It holds only tests and benchmarks:
//
//	go test ./test/bench -run '^$' -bench . -benchtime 200ms
//
// Figures are for one child, one event or one cached object, where that is what
// must not grow, and stand beside the usual ones as ns/child, allocs/child,
// passes/storm and bytes/object. Plain go test runs every scenario once, in small,
// and checks that it does what is measured.
package bench
