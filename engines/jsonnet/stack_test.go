//go:build !race

package jsonnet

// workerStack is what a worker allows a stack.
const workerStack = 64 << 20
