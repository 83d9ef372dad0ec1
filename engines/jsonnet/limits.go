package jsonnet

const (
	// maxSourceNesting bounds brackets in brackets: the parser recurses, and a
	// stack overflow in Go ends the process.
	maxSourceNesting = 500
	// maxSourceParts bounds what nests without brackets: operators, conditionals,
	// locals, which an expression has in a row.
	maxSourceParts = 20_000
	// maxCallDepth bounds the VM's own stack: calls, fields and thunks that wait for each other.
	maxCallDepth = 500
	// maxEvaluations bounds evaluations within evaluations, which the VM's own
	// stack does not: tailstrict calls take none of it, but Go's all the same, up
	// to 2.5 KB for each evaluation. So it stays below the 64 MiB that a worker
	// process allows a stack.
	maxEvaluations = 24_000
	// maxFrames bounds the stack of an error.
	maxFrames = 20
	// maxShownBytes bounds the message of an error.
	maxShownBytes = 4 << 10
)
