package wire

import (
	"encoding/binary"
	"fmt"
	"io"
)

// headerBytes is the size of a frame's header: the length of its payload.
const headerBytes = 4

// Begin starts a frame in buf. Append the payload to the result.
func Begin(buf []byte) []byte { return append(buf[:0], 0, 0, 0, 0) }

// Finish writes the payload's length into a frame from Begin.
func Finish(frame []byte) []byte {
	binary.LittleEndian.PutUint32(frame, uint32(len(frame)-headerBytes))
	return frame
}

// ReadFrame reads the payload of the next frame into new memory. It returns an error for a payload of
// more than limit bytes, and for an end in the middle of a frame.
func ReadFrame(r io.Reader, limit int) ([]byte, error) {
	var header [headerBytes]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(header[:])
	if uint64(size) > uint64(limit) {
		return nil, fmt.Errorf("a message of %d bytes %w: %d are allowed", size, ErrTooLarge, limit)
	}
	payload := make([]byte, size)
	if _, err := io.ReadFull(r, payload); err != nil {
		return nil, fmt.Errorf("a message is cut off: %w", err)
	}
	return payload, nil
}
