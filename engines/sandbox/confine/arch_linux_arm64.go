package confine

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// archCalls are allowed calls that only this architecture has.
var archCalls = []uint32{unix.SYS_PPOLL}
