// Package history judges what hosts have written, by the audit log of an API server that has the bodies of writes: whether each write was
// allowed by what its writer had read, and whether the writes of each object, one after another, are what its inputs ask for.
package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// Write is a write that the API server has answered.
type Write struct {
	cluster.Request
	// Process is the process that wrote, such as host-1.3, or empty if it was none of the hosts.
	Process string
	// Left is when the write left its process.
	Left time.Time
	// Sent and Answered are the bodies. That of a JSON patch is under the key operations.
	Sent, Answered map[string]any
}

// clock is how findings tell times.
const clock = "15:04:05.000"

// prefix begins the IDs of the requests of hosts, as a delayproxy gives them.
const prefix = "chaos-"

// AuditName returns the name with which a proxy marks the requests of a process.
func AuditName(process string) string { return prefix + process }

// Read returns the writes among requests, in the order in which the API server answered them.
func Read(requests cluster.Requests) ([]Write, error) {
	var writes []Write
	for _, r := range requests.Writes() {
		w := Write{Request: r, Left: r.Time}
		if id, isHost := strings.CutPrefix(r.ID, prefix); isHost {
			parts := strings.Split(id, "-")
			nanoseconds, err := strconv.ParseInt(parts[max(0, len(parts)-2)], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("audit ID %s: %w", r.ID, err)
			}
			w.Process, w.Left = strings.Join(parts[:len(parts)-2], "-"), time.Unix(0, nanoseconds)
		}
		var err error
		if w.Sent, err = body(r.Sent); err != nil {
			return nil, fmt.Errorf("%s: what was sent: %w", r, err)
		}
		if w.Answered, err = body(r.Answered); err != nil {
			return nil, fmt.Errorf("%s: the answer: %w", r, err)
		}
		if w.Name == "" { // The API server chose it.
			w.Name, _ = field(w.Answered, "metadata", "name").(string)
		}
		writes = append(writes, w)
	}
	slices.SortStableFunc(writes, func(a, b Write) int { return a.Done.Compare(b.Done) })
	return writes, nil
}

func body(data json.RawMessage) (map[string]any, error) {
	data = json.RawMessage(strings.TrimSpace(string(data)))
	switch {
	case len(data) == 0:
		return nil, nil
	case data[0] == '[':
		var operations []any
		err := json.Unmarshal(data, &operations)
		return map[string]any{"operations": operations}, err
	default:
		var object map[string]any
		err := json.Unmarshal(data, &object)
		return object, err
	}
}

// done reports whether the write was done.
func (w Write) done() bool { return w.Code >= 200 && w.Code < 300 }

// CountDone returns how many writes of hosts were done, but for leases and events.
func CountDone(writes []Write) int {
	count := 0
	for _, w := range writes {
		if w.Process != "" && w.done() && w.Resource != "leases" && w.Resource != "events" {
			count++
		}
	}
	return count
}

// object names what is written.
func (w Write) object() string { return w.Resource + "." + w.Group + " " + w.Namespace + "/" + w.Name }

// uid returns the UID of the object that was written, as far as the answer has it.
func (w Write) uid() string {
	uid, _ := field(w.Answered, "metadata", "uid").(string)
	details, _ := field(w.Answered, "details", "uid").(string)
	return cmp.Or(uid, details)
}

// version returns the resource version that the write made, or 0.
func (w Write) version() int64 {
	text, _ := field(w.Answered, "metadata", "resourceVersion").(string)
	version, _ := strconv.ParseInt(text, 10, 64)
	return version
}

// stored returns a field of the object as it is after the write. A host asks for no more than the metadata of what it has sent in full.
func (w Write) stored(path ...string) any {
	if w.Answered["kind"] == "PartialObjectMetadata" && path[0] != "metadata" {
		return field(w.Sent, path...)
	}
	return field(w.Answered, path...)
}

// data returns a value of a ConfigMap that was written.
func (w Write) data(key string) string {
	value, _ := w.stored("data", key).(string)
	return value
}

// String describes the write for the message of a finding.
func (w Write) String() string {
	who := cmp.Or(w.Process, w.UserAgent)
	text := fmt.Sprintf("%s %s %s %d by %s", w.Done.Format(clock), w.Verb, w.object(), w.Code, who)
	if value := w.data("value"); value != "" {
		text += fmt.Sprintf(" value=%s note=%s", value, w.data("note"))
	}
	return text
}

// field returns a field of an object, or nil.
func field(object map[string]any, path ...string) any {
	var value any = object
	for _, key := range path {
		in, _ := value.(map[string]any)
		value = in[key]
	}
	return value
}
