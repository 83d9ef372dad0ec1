package confine

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// ofThisArch are calls that only this architecture has.
var ofThisArch = []uint32{unix.SYS_PPOLL}
