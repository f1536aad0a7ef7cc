package worker

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"agentd/hookpoints/payload"
)

// tries does what a worker mustn't be able to; each says how it was refused, "" if it wasn't. With only, it does
// nothing but these: where a wall is missing, some would go too far.
func tries(dir string, only []string) []payload.Field {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var out []payload.Field
	try := func(what string, do func() error) {
		if len(only) > 0 && !slices.Contains(only, what) {
			return
		}
		s := ""
		if err := do(); err != nil {
			s = err.Error()
		}
		out = append(out, text(what, s))
	}
	raw := func(number uintptr, args ...uintptr) func() error {
		return func() error {
			var a [6]uintptr
			copy(a[:], args)
			_, _, e := unix.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
			if e != 0 {
				return e
			}
			return nil
		}
	}
	for what, family := range map[string]int{"socket unix": unix.AF_UNIX, "socket inet": unix.AF_INET, "socket inet6": unix.AF_INET6, "socket netlink": unix.AF_NETLINK} {
		try(what, func() error { _, err := unix.Socket(family, unix.SOCK_STREAM, 0); return err })
	}
	try("socketpair", func() error { _, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err })
	try("pipe", func() error { return unix.Pipe2(make([]int, 2), 0) })
	try("open", func() error { _, err := os.ReadFile("/etc/passwd"); return err })
	try("open its own program to write", func() error { _, err := os.OpenFile(os.Args[0], os.O_WRONLY, 0); return err })
	try("open proc", func() error { _, err := os.ReadFile("/proc/self/environ"); return err })
	try("create", func() error { _, err := os.Create(filepath.Join(dir, "created")); return err })
	try("delete", func() error { return os.Remove(filepath.Join(dir, "outside")) })
	try("rename", func() error { return os.Rename(filepath.Join(dir, "outside"), filepath.Join(dir, "renamed")) })
	try("link", func() error { return os.Symlink("/etc/passwd", filepath.Join(dir, "linked")) })
	try("chmod", func() error { return os.Chmod(filepath.Join(dir, "outside"), 0o777) })
	try("chdir", func() error { return os.Chdir("/") })
	try("exec", func() error { return exec.Command("/bin/true").Run() })
	try("execve", func() error { return unix.Exec("/bin/true", []string{"true"}, nil) })
	try("execveat", raw(unix.SYS_EXECVEAT, ^uintptr(0), 0, 0, 0, 0x1000))
	try("fork", raw(unix.SYS_CLONE, uintptr(unix.SIGCHLD)))
	try("clone3", raw(unix.SYS_CLONE3, 0, 0))
	try("ptrace the parent", func() error { return unix.PtraceAttach(os.Getppid()) })
	try("kill the parent", func() error { return unix.Kill(os.Getppid(), 0) })
	try("kill its group", func() error { return unix.Kill(0, 0) })
	try("kill itself", func() error { return unix.Kill(os.Getpid(), 0) })
	try("tgkill the parent", func() error { return unix.Tgkill(os.Getppid(), os.Getppid(), 0) })
	try("queue a signal", raw(unix.SYS_RT_SIGQUEUEINFO, uintptr(os.Getppid()), 0, 0))
	try("pidfd", func() error { _, err := unix.PidfdOpen(1, 0); return err })
	try("memfd", func() error { _, err := unix.MemfdCreate("x", 0); return err })
	try("code in memory", func() error {
		_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_ANON|unix.MAP_PRIVATE)
		return err
	})
	try("memory made code", func() error {
		b, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			return err
		}
		return unix.Mprotect(b, unix.PROT_READ|unix.PROT_EXEC)
	})
	var iov unix.Iovec
	try("read the parent's memory", raw(unix.SYS_PROCESS_VM_READV, uintptr(os.Getppid()), uintptr(unsafe.Pointer(&iov)), 1, uintptr(unsafe.Pointer(&iov)), 1))
	try("io_uring", raw(unix.SYS_IO_URING_SETUP, 1, 0))
	try("bpf", raw(unix.SYS_BPF, 0, 0, 0))
	try("perf", raw(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0))
	try("keys", raw(unix.SYS_ADD_KEY, 0, 0, 0, 0, 0))
	try("shared memory", raw(unix.SYS_SHMGET, 0, 4096, 0))
	try("unshare", func() error { return unix.Unshare(unix.CLONE_NEWUSER) })
	try("mount", func() error { return unix.Mount("x", "/tmp", "tmpfs", 0, "") })
	try("raise a limit", func() error {
		return unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY})
	})
	try("lift no_new_privs", func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) })
	try("another filter", func() error { return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_STRICT, 0, 0, 0) })
	try("signals through the socket", func() error { _, err := unix.FcntlInt(uintptr(socket), unix.F_SETOWN, os.Getppid()); return err })
	try("a descriptor through the socket", func() error { return unix.Sendmsg(socket, nil, unix.UnixRights(0), nil, 0) })
	return out
}
