package directory

import "time"

// stamps are the texts of files that need not be read again while their stamps are the same.
type stamps map[stamp]string

// stamp is what changes with the text of a file.
type stamp struct {
	device, inode     uint64
	size              int64
	changed, modified int64
}

// settleTime is how old the last change of a file must be for its stamp to tell of the next one: the times of file systems advance in
// steps, so that two changes may have one time.
const settleTime = 2 * time.Second
