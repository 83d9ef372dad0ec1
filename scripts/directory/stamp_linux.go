package directory

import (
	"io/fs"
	"syscall"
	"time"
)

// stampOf returns the stamp of a file, and whether it can be relied on. The time of a status change can't be set, as that of a
// modification can.
func stampOf(info fs.FileInfo, now time.Time) (stamp, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}, false
	}
	changed := time.Unix(s.Ctim.Unix())
	stable := changed.Before(now.Add(-settleTime)) && info.ModTime().Before(now.Add(-settleTime))
	//nolint:unconvert // On some processors Dev has 32 bits.
	return stamp{uint64(s.Dev), s.Ino, s.Size, s.Ctim.Nano(), s.Mtim.Nano()}, stable
}
