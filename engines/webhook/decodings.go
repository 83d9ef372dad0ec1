package webhook

import (
	"context"

	"golang.org/x/sync/semaphore"
)

const (
	// maxDecodingMemory bounds the memory of all large answers that are decoded at the same time, whoever called.
	// There is room for two of the largest.
	maxDecodingMemory = 2 * maxAnswerMemory
	// smallAnswerMemory is what an answer takes that is decoded without being counted.
	smallAnswerMemory = 4 << 20
)

// decodings bounds how much is decoded at once. A sync counts an answer only when it has it, and many syncs
// wait for many answers. Small answers never wait.
type decodings struct{ memory *semaphore.Weighted }

func newDecodings() decodings { return decodings{semaphore.NewWeighted(maxDecodingMemory)} }

// acquire waits until there is room for an answer, in the order of the calls, or until ctx ends. Without an error
// the caller has to call release when the text is decoded.
func (d decodings) acquire(ctx context.Context, text []byte) (release func(), err error) {
	if len(text)*maxMemoryPerByte <= smallAnswerMemory {
		return func() {}, nil
	}
	size := int64(min(maxDecodedSize(text), maxAnswerMemory)) // More is refused.
	if size <= smallAnswerMemory {
		return func() {}, nil
	}
	if err := d.memory.Acquire(ctx, size); err != nil {
		return nil, err
	}
	return func() { d.memory.Release(size) }, nil
}

// decode decodes an answer as soon as there is room for it.
func (x *exchange) decode(ctx context.Context, text []byte) (any, error) {
	release, err := x.engine.decodings.acquire(ctx, text)
	if err != nil {
		return nil, err
	}
	defer release()
	return decode(text, x.endpoint.RefuseDoubled)
}
