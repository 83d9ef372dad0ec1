//go:build race

package jsonnet

// workerStack is what a worker allows a stack; frames are larger under the race detector.
const workerStack = 256 << 20
