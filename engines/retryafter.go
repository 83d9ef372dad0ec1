package engines

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryAfter reads the HTTP header of that name: seconds, or a date, of which now
// is taken away. It is zero for a header that is absent, unreadable or not in
// the future, so that the caller falls back to its own backoff.
func RetryAfter(header string, now time.Time) time.Duration {
	header = strings.TrimSpace(header)
	if seconds, err := strconv.ParseInt(header, 10, 64); err == nil {
		seconds = min(max(seconds, 0), math.MaxInt64/int64(time.Second))
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
