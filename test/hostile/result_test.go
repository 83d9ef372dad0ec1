//go:build linux

package hostile

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/test/race"
)

// result is the result of an attack.
type result struct {
	loading, calling time.Duration
	answer           engines.Response
	err              error
}

// late reports whether the pool has not kept to the terms, on a machine on which a loop is stopped so much late.
func (r result) late(given terms, slow time.Duration) bool {
	late := slack + 10*slow
	return r.loading > given.loading+late || r.calling > given.deadline+late
}

// starved reports whether the call was over before a worker was there for it, which shows nothing.
func (r result) starved() bool {
	return r.err != nil && strings.Contains(r.err.Error(), "no script worker was free")
}

// text is all that came out.
func (r result) text() string {
	var all strings.Builder
	var e *engines.Error
	if errors.As(r.err, &e) {
		all.WriteString(e.Detail())
	}
	for _, line := range r.answer.Logs {
		all.WriteString("\n" + line)
	}
	write(&all, r.answer.Body)
	return all.String()
}

// write writes a value down, of which texts are whole.
func write(all *strings.Builder, value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, part := range v {
			all.WriteString(key + ":")
			write(all, part)
		}
	case []any:
		for _, part := range v {
			write(all, part)
		}
	default:
		fmt.Fprintf(all, "%v ", v)
	}
}

// answered is what kind gives for an attack that had an answer.
const answered = "Answered"

func (r result) kind() string {
	if r.err == nil {
		return answered
	}
	return engines.KindOf(r.err).Reason()
}

// complaints says what must not have resulted from an attack of any kind.
func (r result) complaints() (all []string) {
	var e *engines.Error
	if r.err != nil && !errors.As(r.err, &e) {
		all = append(all, fmt.Sprintf("error %v is no *engines.Error", r.err))
	}
	text := fmt.Sprint(r.err)
	for _, bad := range []string{"the engine panicked", "script worker crashed", "no script worker was free", "workers fail before"} {
		if race.Enabled && bad == "script worker crashed" {
			continue // It runs out of memory in words of its own.
		}
		if strings.Contains(text, bad) {
			all = append(all, fmt.Sprintf("%.300s", r.text()))
		}
	}
	if len(text) > 64<<10 {
		all = append(all, fmt.Sprintf("the error has %d bytes", len(text)))
	}
	return all
}
