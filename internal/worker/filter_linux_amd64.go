package worker

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_X86_64

var alsoAlways = []uint32{unix.SYS_EPOLL_WAIT, unix.SYS_ARCH_PRCTL}
