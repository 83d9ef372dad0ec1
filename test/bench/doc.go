// Package bench measures what a sync costs in the real reconcile core, on caches
// that are filled from memory and with hooks that answer at once, so that nothing
// but the core is measured. It holds only tests and benchmarks:
//
//	go test ./test/bench -run '^$' -bench . -benchtime 200ms
//
// Those named BenchmarkEngines measure the hooks instead: the same one in every language,
// in workers and in this process, against a webhook in a process of its own. Their
// figures are ratios within a row, because machines are not alike:
//
//	go test ./test/bench -run '^$' -bench Engines
//
// Figures are for one child, one event or one cached object, where that is what
// must not grow, and stand beside the usual ones as ns/child, allocs/child,
// passes/storm and bytes/object. Plain go test runs every scenario once, in small,
// and checks that it does what is measured.
package bench
