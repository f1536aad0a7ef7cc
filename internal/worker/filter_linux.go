//go:build linux && (amd64 || arm64)

package worker

import "golang.org/x/sys/unix"

// What a quiet Go program needs. Files, sockets, processes, memory that runs: none.
var always = append([]uint32{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_CLOSE, unix.SYS_MUNMAP, unix.SYS_MADVISE, unix.SYS_FUTEX, unix.SYS_MINCORE,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2, // the runtime's own poller
	unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_GETTIMEOFDAY, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY,
	unix.SYS_RT_SIGRETURN, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGACTION, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
	unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_GETRANDOM, unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_RSEQ, unix.SYS_SET_ROBUST_LIST,
}, alsoAlways...)

// Offsets in what the kernel hands to a filter.
const (
	offNumber = 0
	offArch   = 4
	offArg0   = 16
	offArg2   = 32
)

const (
	allow    = unix.SECCOMP_RET_ALLOW
	refuse   = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	unknown  = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	killHere = unix.SECCOMP_RET_KILL_PROCESS
)

// filter is the program for the kernel: what isn't named is refused with EPERM. A signal may only go to
// the process itself, and a new task can only be a thread.
func filter(pid int) []unix.SockFilter {
	var p program
	p.load(offArch)
	p.unless(arch, killHere)
	p.load(offNumber)
	p.when(unix.SYS_CLONE3, unknown) // its flags can't be read here; libraries fall back to clone
	for _, number := range always {
		p.when(number, allow)
	}
	p.guarded(unix.SYS_TGKILL, offArg0, func() { p.when(uint32(pid), allow) })
	p.guarded(unix.SYS_CLONE, offArg0, func() { p.bits(unix.CLONE_THREAD, allow) })
	for _, number := range []uint32{unix.SYS_MMAP, unix.SYS_MPROTECT} {
		p.guarded(number, offArg2, func() { p.bits(unix.PROT_EXEC, refuse); p.end(allow) })
	}
	p.end(refuse)
	return p
}

type program []unix.SockFilter

func (p *program) add(code uint16, k uint32, yes, no uint8) {
	*p = append(*p, unix.SockFilter{Code: code, K: k, Jt: yes, Jf: no})
}

func (p *program) load(offset uint32) { p.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset, 0, 0) }
func (p *program) end(action uint32)  { p.add(unix.BPF_RET|unix.BPF_K, action, 0, 0) }

// when ends with an action if what was loaded is k.
func (p *program) when(k, action uint32) {
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k, 0, 1)
	p.end(action)
}

// unless ends with an action if what was loaded isn't k.
func (p *program) unless(k, action uint32) {
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k, 1, 0)
	p.end(action)
}

// bits ends with an action if what was loaded has one of the bits.
func (p *program) bits(k, action uint32) {
	p.add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, k, 0, 1)
	p.end(action)
}

// guarded looks at an argument of one call; what the inner part doesn't end is refused.
func (p *program) guarded(number, argument uint32, inner func()) {
	at := len(*p)
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, number, 0, 0)
	p.load(argument)
	inner()
	p.end(refuse)
	(*p)[at].Jf = uint8(len(*p) - at - 1)
}
