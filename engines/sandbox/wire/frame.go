package wire

import (
	"encoding/binary"
	"fmt"
	"io"
)

// headerBytes is what a frame has before its payload: the payload's length.
const headerBytes = 4

// Begin gives the beginning of a frame in buf, to which the payload is appended.
func Begin(buf []byte) []byte { return append(buf[:0], 0, 0, 0, 0) }

// Finish writes the payload's length into a frame from Begin.
func Finish(frame []byte) []byte {
	binary.LittleEndian.PutUint32(frame, uint32(len(frame)-headerBytes))
	return frame
}

// ReadFrame reads the payload of the next frame, into memory of its own. A payload of
// more than limit bytes is an error, and so is an end in the middle of one.
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
