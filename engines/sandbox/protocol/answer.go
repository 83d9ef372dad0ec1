package protocol

import (
	"errors"
	"fmt"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// Answer is a worker's answer to a question. The answer to a Load has no response.
type Answer struct {
	Number   uint64
	Response engines.Response
	// Err is nil on success.
	Err *engines.Error
	// NearLimit means that the worker must be replaced, because it came close to its memory limit.
	NearLimit bool
	// Unreadable means that the question could not be decoded, and nothing was run.
	Unreadable bool
	// ProgramBytes is the memory of the program that was loaded.
	ProgramBytes int64
	// CachedBytes is the memory of what the worker's engines keep for programs to come.
	CachedBytes int64
	// Files are the files that the program consists of that was loaded.
	Files []engines.UsedFile
	// Warnings are the warnings of the program that was loaded.
	Warnings []*engines.Error
	// Points are the points of the program that was loaded, if it counts coverage.
	Points []engines.CoveragePoint
	// Outline is that of the program that was loaded, as engines.Outline.Marshal has it.
	Outline string
}

// Append appends the encoded answer to frame. It encodes objects that the host has by their ID. If the
// body can't be encoded, the answer is an error.
func (a Answer) Append(frame []byte, objects *wire.Objects) []byte {
	e := a.encode(frame, objects)
	if err := e.Err(); err != nil {
		a.Response.Body, a.Err = nil, bodyError(err)
		e = a.encode(frame, objects)
	}
	return e.Bytes()
}

func (a Answer) encode(frame []byte, objects *wire.Objects) *wire.Encoder {
	e := wire.NewEncoder(frame)
	e.Uint(KindAnswer)
	e.Uint(a.Number)
	e.Bool(a.NearLimit)
	e.Bool(a.Unreadable)
	e.Int(a.ProgramBytes)
	e.Int(a.CachedBytes)
	appendUsed(e, a.Files)
	appendErrors(e, a.Warnings)
	appendPoints(e, a.Points)
	e.String(a.Outline)
	e.Bool(a.Response.TimeDependent)
	e.Bool(a.Response.Remote)
	e.Bool(a.Response.Read != nil)
	e.Strings(a.Response.Read)
	e.Strings(TruncateLogs(a.Response.Logs))
	e.String(string(a.Response.Coverage))
	appendError(e, a.Err)
	e.Max, e.Share, e.BackRefs = len(e.Bytes())+MaxResponseBytes, objects.Share, true
	e.Value(a.Response.Body)
	return e
}

func bodyError(err error) *engines.Error {
	if errors.Is(err, wire.ErrTooLarge) {
		return &engines.Error{Kind: engines.Exhausted, Message: fmt.Sprintf("the response is larger than %d MiB", MaxResponseBytes>>20)}
	}
	return &engines.Error{Kind: engines.BadResponse, Message: "the response " + err.Error()}
}

// TruncateLogs keeps the lines that fit. If some do not, it appends a line that says so.
func TruncateLogs(lines []string) []string {
	left := MaxLogBytes + 1<<10 // Logs that an engine has truncated itself pass, with its last line.
	for i, line := range lines {
		if left -= len(line) + 1; left < 0 {
			return append(lines[:i:i], fmt.Sprintf("(cut at %d KiB)", MaxLogBytes>>10))
		}
	}
	return lines
}

// ReadAnswer decodes what Append wrote. The result shares no memory with payload. held returns the
// object that the worker has under an ID, and its encoded size. If the body takes too much memory, or
// would if it had copies of these objects, the answer is an error.
func ReadAnswer(payload []byte, held func(number uint64) (m map[string]any, bytes int)) (a Answer, err error) {
	d := wire.NewDecoder(payload)
	d.Copy, d.Memory, d.BackRefCost = true, MaxResponseMemory, memoryPerByte
	d.Lookup = func(number uint64) (map[string]any, int) {
		m, bytes := held(number)
		return m, bytes * memoryPerByte
	}
	if err := expect(d, KindAnswer); err != nil {
		return a, err
	}
	if a.Number, err = d.Uint(); err != nil {
		return a, err
	}
	if a.NearLimit, err = d.Bool(); err != nil {
		return a, err
	}
	if a.Unreadable, err = d.Bool(); err != nil {
		return a, err
	}
	if a.ProgramBytes, err = d.Int(); err != nil {
		return a, err
	}
	if a.CachedBytes, err = d.Int(); err != nil {
		return a, err
	}
	if a.Files, err = readUsed(d); err != nil {
		return a, err
	}
	if a.Warnings, err = readErrors(d); err != nil {
		return a, err
	}
	if a.Points, err = readPoints(d); err != nil {
		return a, err
	}
	if a.Outline, err = d.String(); err != nil {
		return a, err
	}
	if err := readResponse(d, &a.Response); err != nil {
		return a, err
	}
	if a.Err, err = readError(d); err != nil {
		return a, err
	}
	a.Response.Body, err = d.Value()
	if errors.Is(err, wire.ErrTooLarge) {
		a.Err, err = bodyError(err), nil
	}
	return a, err
}

func readResponse(d *wire.Decoder, r *engines.Response) (err error) {
	if r.TimeDependent, err = d.Bool(); err != nil {
		return err
	}
	if r.Remote, err = d.Bool(); err != nil {
		return err
	}
	isKnown, err := d.Bool()
	if err != nil {
		return err
	}
	if r.Read, err = d.Strings(); err != nil {
		return err
	}
	if !isKnown {
		r.Read = nil
	}
	if r.Logs, err = d.Strings(); err != nil {
		return err
	}
	r.Logs = TruncateLogs(r.Logs)
	if len(r.Logs) == 0 {
		r.Logs = nil
	}
	r.Coverage, err = readCoverage(d)
	return err
}
