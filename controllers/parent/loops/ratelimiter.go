package loops

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/controllers/parent/expiring"
)

// RateLimiter is a token bucket for each key: of what is done again and again, burst times are free, and then one in each interval.
// It forgets buckets that are full.
type RateLimiter[K comparable] struct {
	clock    clock.PassiveClock
	burst    int
	interval time.Duration
	mu       sync.Mutex
	// full has when the bucket of a key is full again.
	full *expiring.Map[K, time.Time]
}

// NewRateLimiter returns a limiter that lets burst events of a key through at once, and then one for each interval.
func NewRateLimiter[K comparable](clock clock.PassiveClock, burst int, interval time.Duration) *RateLimiter[K] {
	full := expiring.New[K, time.Time](time.Duration(burst+1)*interval, clock.Now())
	return &RateLimiter[K]{clock: clock, burst: burst, interval: interval, full: full}
}

// delay returns the time until the bucket of a key has a token, or zero.
func (l *RateLimiter[K]) delay(key K) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.delayLocked(key, l.clock.Now())
}

// Take takes a token, or the next one if there is none, and returns the time until it is there, which is interval at most.
func (l *RateLimiter[K]) Take(key K) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	l.full.Rotate(now)
	wait := min(l.delayLocked(key, now), l.interval)
	full, _ := l.full.Get(key)
	if full.Before(now) {
		full = now
	}
	l.full.Put(key, now.Add(min(full.Sub(now), time.Duration(l.burst)*l.interval)+l.interval))
	return wait
}

func (l *RateLimiter[K]) delayLocked(key K, now time.Time) time.Duration {
	full, ok := l.full.Get(key)
	if !ok || full.Before(now) {
		return 0
	}
	return max(0, full.Sub(now)-time.Duration(l.burst-1)*l.interval)
}

// Forget drops what is known of a key.
func (l *RateLimiter[K]) Forget(key K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.full.Remove(key)
}
