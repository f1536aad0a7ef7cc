package worker

import (
	"os"
	"os/exec"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"agentd/hookpoints/payload"
)

// tries does what a worker mustn't be able to; each says how it was refused, "" if it wasn't.
func tries() []payload.Field {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var out []payload.Field
	try := func(what string, err error) {
		s := ""
		if err != nil {
			s = err.Error()
		}
		out = append(out, text(what, s))
	}
	raw := func(number uintptr, args ...uintptr) error {
		var a [6]uintptr
		copy(a[:], args)
		_, _, e := unix.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
		if e != 0 {
			return e
		}
		return nil
	}
	for what, family := range map[string]int{"socket unix": unix.AF_UNIX, "socket inet": unix.AF_INET, "socket inet6": unix.AF_INET6, "socket netlink": unix.AF_NETLINK} {
		_, err := unix.Socket(family, unix.SOCK_STREAM, 0)
		try(what, err)
	}
	_, err := os.ReadFile("/etc/passwd")
	try("open", err)
	_, err = os.ReadFile("/proc/self/environ")
	try("open proc", err)
	_, err = os.Create("/tmp/agentd-worker-was-here")
	try("create", err)
	try("exec", exec.Command("/bin/true").Run())
	try("fork", raw(unix.SYS_CLONE, uintptr(unix.SIGCHLD)))
	try("execve", unix.Exec("/bin/true", []string{"true"}, nil))
	try("ptrace the parent", unix.PtraceAttach(os.Getppid()))
	try("kill the parent", unix.Kill(os.Getppid(), 0))
	try("kill itself", unix.Kill(os.Getpid(), 0))
	try("tgkill the parent", unix.Tgkill(os.Getppid(), os.Getppid(), 0))
	_, err = unix.PidfdOpen(1, 0)
	try("pidfd", err)
	_, err = unix.MemfdCreate("x", 0)
	try("memfd", err)
	_, err = unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_ANON|unix.MAP_PRIVATE)
	try("code in memory", err)
	var iov unix.Iovec
	try("read the parent's memory", raw(unix.SYS_PROCESS_VM_READV, uintptr(os.Getppid()), uintptr(unsafe.Pointer(&iov)), 1, uintptr(unsafe.Pointer(&iov)), 1))
	try("io_uring", raw(unix.SYS_IO_URING_SETUP, 1, 0))
	try("bpf", raw(unix.SYS_BPF, 0, 0, 0))
	try("unshare", unix.Unshare(unix.CLONE_NEWUSER))
	try("mount", unix.Mount("x", "/tmp", "tmpfs", 0, ""))
	try("chdir", os.Chdir("/"))
	try("link", os.Symlink("/etc/passwd", "/tmp/agentd-worker-link"))
	try("raise a limit", unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}))
	try("lift no_new_privs", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0))
	_, err = unix.FcntlInt(uintptr(socket), unix.F_SETOWN, os.Getppid())
	try("signals through the socket", err)
	return out
}
