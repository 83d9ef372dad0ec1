//go:build linux && !amd64

package hostile

// forbiddenHere are calls that newer architectures lack.
var forbiddenHere []uint32
