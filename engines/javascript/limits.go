package javascript

const (
	// maxSourceBytes bounds the files that a script imports together: esbuild's and goja's
	// parsers take much more memory than that.
	maxSourceBytes = 1 << 20
	// maxSourceNesting bounds brackets in brackets: the parsers recurse, and a
	// stack overflow in Go ends the process.
	maxSourceNesting = 500
	// maxCallDepth bounds function calls in function calls.
	maxCallDepth = 500
	// maxAnswerNesting bounds objects in objects, in the response.
	maxAnswerNesting = 500
	// maxArrayGrowth is how far past its end an array of the request can be
	// written to at once: it has no holes, so that each element takes memory.
	maxArrayGrowth = 1 << 16
	// maxFrames bounds the stack of an error.
	maxFrames = 20
	// maxShownBytes bounds a value that is part of a message.
	maxShownBytes = 1 << 10
)
