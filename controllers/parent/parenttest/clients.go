package parenttest

import "k8s.io/client-go/dynamic"

// WithoutWatchList makes informers list before they watch, as the fake client needs it.
type WithoutWatchList struct{ dynamic.Interface }

// IsWatchListSemanticsUnSupported returns true.
func (WithoutWatchList) IsWatchListSemanticsUnSupported() bool { return true }
