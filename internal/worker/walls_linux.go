//go:build linux && (amd64 || arm64)

package worker

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Missing lists the walls that this machine can't build, by asking the kernel.
func Missing() []Wall {
	var out []Wall
	if landlockVersion() < 1 {
		out = append(out, Files)
	}
	action := uint32(unix.SECCOMP_RET_ERRNO)
	if _, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action))); e != 0 {
		out = append(out, Calls)
	}
	return out
}

func landlockVersion() int {
	v, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if e != 0 {
		return 0
	}
	return int(v)
}

// confineAndExec builds the walls that one thread can build for itself, and becomes the program again from
// that thread: what a thread gave up before exec, no thread of the new program has. Rules that are set
// later would hold for one thread of many only.
func confineAndExec(args []string, without []Wall) error {
	runtime.LockOSThread() // and never lets go
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrNoWalls, Privileges, err)
	}
	if err := keepOpen("/proc/self/statm", statm); err != nil {
		return err
	}
	if !slices.Contains(without, Files) {
		if err := onlyItself(); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrNoWalls, Files, err)
		}
	}
	for what, limit := range map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_NOFILE: 32, unix.RLIMIT_MEMLOCK: 0, unix.RLIMIT_MSGQUEUE: 0} {
		if err := unix.Setrlimit(what, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrNoWalls, Memory, err)
		}
	}
	return syscall.Exec(exe, args, os.Environ()) // which the parent chose
}

// statm is the descriptor through which the confined program sees how large it is.
const statm = socket + 1

// keepOpen opens a file as a descriptor that the next program has.
func keepOpen(name string, as int) error {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if fd == as {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0)
		return err
	}
	defer unix.Close(fd)
	return unix.Dup3(fd, as, 0)
}

// onlyItself lets this thread read what the program is made of, its libraries among it, and nothing else.
func onlyItself() error {
	version := landlockVersion()
	if version < 1 {
		return unix.ENOSYS
	}
	attr := unix.LandlockRulesetAttr{Access_fs: landlockFiles(version)}
	if version >= 4 {
		attr.Access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if version >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	fd, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if e != 0 {
		return e
	}
	defer unix.Close(int(fd))
	parts, err := mapped()
	if err != nil {
		return err
	}
	for _, name := range append(parts, "/etc/ld.so.cache") {
		if err := mayRead(int(fd), name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if _, _, e := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); e != 0 {
		return e
	}
	return nil
}

// landlockFiles is everything about files that a version of landlock knows.
func landlockFiles(version int) uint64 {
	bits := 13
	switch {
	case version >= 5:
		bits = 16
	case version >= 3:
		bits = 15
	case version >= 2:
		bits = 14
	}
	return 1<<bits - 1
}

func mayRead(ruleset int, name string) error {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	rule := unix.LandlockPathBeneathAttr{Allowed_access: unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE, Parent_fd: int32(fd)}
	if _, _, e := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); e != 0 {
		return e
	}
	return nil
}

// mapped lists the files that this process runs: the program, its loader and its libraries.
func mapped() ([]string, error) {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []string
	seen := map[string]bool{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		i := strings.IndexByte(lines.Text(), '/')
		if i < 0 {
			continue
		}
		if name := lines.Text()[i:]; !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out, lines.Err()
}

// shut builds the walls that hold for all threads, once everything that needs more is done.
func shut(without []Wall) error {
	size, err := virtualSize()
	if err != nil {
		return err
	}
	limit := size + memoryCap
	if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrNoWalls, Memory, err)
	}
	debug.SetMemoryLimit(memoryCap * 3 / 4)
	debug.SetMaxStack(64 << 20)
	if slices.Contains(without, Calls) {
		return nil
	}
	program := filter(os.Getpid())
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if _, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog))); e != 0 {
		return fmt.Errorf("%w: %s: %w", ErrNoWalls, Calls, e)
	}
	return nil
}

// virtualSize is the process's address space in bytes. A limit counts from there, as the runtime reserves
// far more than it uses.
func virtualSize() (uint64, error) {
	text := make([]byte, 256)
	n, err := unix.Read(statm, text)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%w: the size of the process can't be read: %v", ErrNoWalls, err)
	}
	unix.Close(statm)
	pages, err := strconv.ParseUint(strings.Fields(string(text[:n]))[0], 10, 64)
	return pages * uint64(os.Getpagesize()), err
}
