package controller

import (
	"hash/maphash"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/runtime/telemetry/verbosity"
)

const (
	// failuresInterval is the time between two lines about how many keys fail.
	failuresInterval = time.Minute
	// maxWarnings is how many failures are logged one by one in that time.
	maxWarnings = 10
)

// failureLog logs the failures of one control loop. The log stays short however many keys fail, and however often they are retried:
// a warning for each failure that is not the last one of its key again, and once in an interval how many keys fail.
type failureLog struct {
	log     logr.Logger
	clock   clock.PassiveClock
	details func(error) []any
	seed    maphash.Seed

	mu       sync.Mutex
	failing  map[Key]uint64 // The last failure of each, as a hash of its Signature.
	reported bool           // Whether there was a line since some key began to fail.
	began    time.Time      // The beginning of the interval.
	// warnings, repeated and omitted count the failures of the interval: those that were logged, those that were the last one of their key
	// again, and the others.
	warnings, repeated, omitted int
	// example is a failure of the interval: one that was omitted, if any was.
	example failureExample
}

// failureExample is the failure that the line about many names.
type failureExample struct {
	key     Key
	text    string // Empty means that there is none.
	omitted bool
}

func newFailureLog(config Config) *failureLog {
	details := config.FailureDetails
	if details == nil {
		details = func(error) []any { return nil }
	}
	return &failureLog{
		log: config.Log, clock: config.Clock, details: details, seed: maphash.MakeSeed(), failing: map[Key]uint64{}, began: config.Clock.Now(),
	}
}

// add logs or counts a failure of key, which has failed so many times in a row.
func (f *failureLog) add(key Key, err error, failures int) {
	text := err.Error()
	hash := maphash.String(f.seed, Signature(text))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.summarizeLocked()
	last, failed := f.failing[key]
	f.failing[key] = hash
	values := append([]any{"key", key.String(), "failures", failures, "error", text}, f.details(err)...)
	switch {
	case failed && last == hash:
		f.repeated++
		f.exemplifyLocked(failureExample{key: key, text: text})
		f.log.V(verbosity.Decisions).Info("reconcile failed again", values...)
	case f.warnings == maxWarnings:
		f.omitted++
		f.exemplifyLocked(failureExample{key: key, text: text, omitted: true})
		f.log.V(verbosity.Decisions).Info("reconcile failed", values...)
	default:
		f.warnings++
		f.exemplifyLocked(failureExample{key: key, text: text})
		f.reported = true
		verbosity.Warn(f.log, "reconcile failed", values...)
	}
}

// exemplifyLocked keeps the last failure that was omitted, or the last one.
func (f *failureLog) exemplifyLocked(e failureExample) {
	if e.omitted || !f.example.omitted {
		f.example = e
	}
}

// forget notes that key does not fail any more.
func (f *failureLog) forget(key Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, failed := f.failing[key]; !failed {
		return
	}
	delete(f.failing, key)
	if f.example.key == key {
		f.example = failureExample{}
	}
	f.log.V(verbosity.Decisions).Info("reconcile succeeded again", "key", key.String())
	if len(f.failing) == 0 && f.reported {
		f.reported = false
		f.log.Info("nothing fails any more")
	}
}

// summarize logs how many keys fail, if it is time and there were failures without a line of their own.
func (f *failureLog) summarize() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.summarizeLocked()
}

func (f *failureLog) summarizeLocked() {
	now := f.clock.Now()
	took := now.Sub(f.began)
	if took < failuresInterval {
		return
	}
	if f.repeated+f.omitted > 0 && len(f.failing) > 0 {
		f.reported = true
		values := []any{"failing", len(f.failing), "failures", f.warnings + f.repeated + f.omitted, "omitted", f.omitted,
			"within", took.Round(time.Second).String()}
		if f.example.text != "" {
			values = append(values, "example", f.example.key.String(), "error", f.example.text)
		}
		verbosity.Warn(f.log, "reconciles go on failing", values...)
	}
	f.began, f.warnings, f.repeated, f.omitted, f.example = now, 0, 0, 0, failureExample{}
}

// Signature returns what makes an error message what it is: the message without words that have digits in them, which are numbers,
// generated names and identifiers, and without the parts of generated names and UUIDs that happen to have none.
func Signature(message string) string {
	var b strings.Builder
	for len(message) > 0 {
		word := strings.IndexFunc(message, func(r rune) bool { return !isWordRune(r) })
		if word < 0 {
			word = len(message)
		}
		writeSignature(&b, message[:word])
		message = message[word:]
		next := strings.IndexFunc(message, isWordRune)
		if next < 0 {
			next = len(message)
		}
		b.WriteString(message[:next])
		message = message[next:]
	}
	return b.String()
}

// isWordRune reports whether a rune is part of a word that may be a generated name.
func isWordRune(r rune) bool { return r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// writeSignature writes a word without its numbers and generated parts, which are between hyphens.
func writeSignature(b *strings.Builder, word string) {
	identifier := isUUID(word)
	for first := true; ; first = false {
		part, rest, more := strings.Cut(word, "-")
		if identifier || strings.ContainsFunc(part, unicode.IsDigit) || !first && !more && isNameSuffix(part) {
			part = "#"
		}
		b.WriteString(part)
		if !more {
			return
		}
		b.WriteByte('-')
		word = rest
	}
}

// isUUID reports whether a word has the form of a UUID.
func isUUID(word string) bool {
	if len(word) != 36 {
		return false
	}
	for i := range len(word) {
		hyphen := i == 8 || i == 13 || i == 18 || i == 23
		if hyphen != (word[i] == '-') || !hyphen && !strings.ContainsRune("0123456789abcdefABCDEF", rune(word[i])) {
			return false
		}
	}
	return true
}

// isNameSuffix reports whether a part of a name may be what the API server appends for generateName: five characters, of which no letter
// is a vowel.
func isNameSuffix(part string) bool {
	return len(part) == 5 && strings.Trim(part, "bcdfghjklmnpqrstvwxz") == ""
}
