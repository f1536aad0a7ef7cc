//go:build linux && (amd64 || arm64)

package shell_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Programs by what becomes of them.
var (
	replaced = strings.Fields("rm curl wget ssh scp rsync nc docker kubectl npm pip pip3 cargo go chown kill systemctl man shred reboot mount umount crontab at")

	passing = map[string]string{ // scripts that go on with the command that they got
		"sudo": `while :; do case $1 in --) shift; break;; -[ugpCThRr]) shift 2;; -?*) shift;; [A-Za-z_]*=*) export "$1"; shift;; *) break;; esac; done
exec "$@"`,
		"doas": `while :; do case $1 in --) shift; break;; -[uC]) shift 2;; -?*) shift;; *) break;; esac; done
exec "$@"`,
		"su": `while [ $# -gt 1 ]; do case $1 in -c|--command) exec /usr/bin/sh -c "$2";; *) shift;; esac; done`,
		"watch": `while :; do case $1 in -n|-q) shift 2;; -?*) shift;; *) break;; esac; done
[ $# -gt 0 ] && exec /usr/bin/sh -c "$*"`,
		"script": `while [ $# -gt 1 ]; do case $1 in -*c) exec /usr/bin/sh -c "$2";; *) shift;; esac; done`,
	}

	genuine = strings.Fields(`bash dash sh env xargs find timeout nohup nice setsid stdbuf flock time
		git tar awk mawk sed ed vi make perl python3 node jq rg busybox xxd rev
		cat cp mv ln install tee dd sort split ls mkdir rmdir touch unlink chmod truncate mktemp
		head tail wc tr cut uniq grep egrep fgrep base64 od seq printf echo true false test [ basename dirname readlink realpath
		date id whoami uname sleep yes expr pwd stat comm diff paste tac nl fold sum md5sum sha256sum mkfifo csplit
		gzip gunzip zcat printenv hostname which file less cmp`)
)

// stubShell runs the passing scripts; it is told apart from the shells that a line starts.
const stubShell = "/usr/stub/sh"

// world is the root folder of the lines.
type world struct {
	plan    fixturePlan
	missing []string
	fresh   tree
}

// writable are the folders that a line may be able to change; each is a file system of its own.
var writable = []string{"/home", "/tmp", "/var", "/etc", "/root"}

func buildWorld(plan []byte) (*world, error) {
	w := &world{}
	if err := w.plan.read(plan); err != nil {
		return nil, err
	}
	const root = "/tmp/r"
	steps := []struct {
		what string
		do   func() error
	}{
		{"keep mounts to itself", func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") }},
		{"mount a new root", func() error {
			return errors.Join(tmpfs("/tmp"), os.Mkdir(root, 0o755), tmpfs(root))
		}},
		{"fill it", func() error { return w.fillRoot(root) }},
		{"close it", func() error {
			return unix.MountSetattr(unix.AT_FDCWD, root, unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID})
		}},
		{"mount what lines may change", func() error {
			for _, dir := range writable {
				if err := tmpfs(root + dir); err != nil {
					return err
				}
			}
			return nil
		}},
		{"mount /proc", func() error {
			return unix.Mount("proc", root+"/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
		}},
		{"enter it", func() error {
			return errors.Join(os.Chdir(root), unix.PivotRoot(".", "."), unix.Unmount(".", unix.MNT_DETACH), os.Chdir("/"))
		}},
		{"give up privileges for good", func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			return nil, fmt.Errorf("the sandbox can't %s: %w", s.what, err)
		}
	}
	return w, w.makeFixture()
}

func tmpfs(dir string) error {
	return unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=64m,mode=755")
}

func (w *world) fillRoot(root string) error {
	for _, dir := range append([]string{"/usr/bin", "/usr/stub", "/usr/local/bin", "/usr/sbin", "/proc", "/dev"}, writable...) {
		if err := os.MkdirAll(root+dir, 0o755); err != nil {
			return err
		}
	}
	for _, dir := range []string{"/usr/lib", "/usr/libexec", "/usr/share", "/usr/lib64", "/usr/lib32", "/lib", "/lib64", "/lib32"} {
		info, err := os.Lstat(dir)
		if err != nil {
			continue
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			to, err := os.Readlink(dir)
			if err != nil {
				return err
			}
			if err := os.Symlink(to, root+dir); err != nil {
				return err
			}
			continue
		}
		if err := errors.Join(os.MkdirAll(root+dir, 0o755), unix.Mount(dir, root+dir, "", unix.MS_BIND|unix.MS_REC, "")); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	for _, dev := range []string{"null", "zero", "full", "random", "urandom"} {
		if err := bindFile("/dev/"+dev, root+"/dev/"+dev); err != nil {
			return err
		}
	}
	for name, to := range map[string]string{"/bin": "usr/bin", "/sbin": "usr/sbin", "/dev/fd": "/proc/self/fd", "/dev/stdin": "/proc/self/fd/0", "/dev/stdout": "/proc/self/fd/1", "/dev/stderr": "/proc/self/fd/2"} {
		if err := os.Symlink(to, root+name); err != nil {
			return err
		}
	}
	bin := root + "/usr/bin/"
	for _, name := range replaced {
		if err := os.WriteFile(bin+name, doNothing(), 0o755); err != nil {
			return err
		}
	}
	for name, text := range passing {
		if err := os.WriteFile(bin+name, []byte("#!"+stubShell+"\n"+text+"\n"), 0o755); err != nil {
			return err
		}
	}
	for _, name := range genuine {
		from, ok := hostProgram(name)
		if !ok {
			w.missing = append(w.missing, name)
			continue
		}
		if err := bindFile(from, bin+name); err != nil {
			return err
		}
	}
	for _, shell := range []string{"bash", "dash"} {
		if _, ok := hostProgram(shell); !ok {
			return fmt.Errorf("there is no %s", shell)
		}
	}
	dash, _ := hostProgram("dash")
	return bindFile(dash, root+stubShell)
}

// hostProgram finds the file of a program, past the links that lead to it.
func hostProgram(name string) (string, bool) {
	if name == "sh" {
		name = "dash" // as in the corpus, whatever this machine's sh is
	}
	for _, dir := range []string{"/usr/bin/", "/bin/", "/usr/local/bin/"} {
		real, err := filepath.EvalSymlinks(dir + name)
		if err != nil {
			continue
		}
		if info, err := os.Stat(real); err == nil && info.Mode().IsRegular() && unix.Access(real, unix.X_OK) == nil {
			return real, true
		}
	}
	return "", false
}

func bindFile(from, to string) error {
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Close(), unix.Mount(from, to, "", unix.MS_BIND, "")); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	return nil
}

// doNothing is the smallest program that ends with 0.
func doNothing() []byte {
	const base, head = 0x400000, 64 + 56
	machine, code := byte(62), []byte{0xb8, 60, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05} // mov eax,60; xor edi,edi; syscall
	if runtime.GOARCH == "arm64" {
		machine, code = 183, []byte{0xa8, 0x0b, 0x80, 0xd2, 0x00, 0x00, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4} // mov x8,93; mov x0,0; svc 0
	}
	elf := make([]byte, head, head+len(code))
	put := func(at, size int, v uint64) {
		for i := range size {
			elf[at+i] = byte(v >> (8 * i))
		}
	}
	copy(elf, "\x7fELF\x02\x01\x01")
	put(16, 2, 2) // an executable
	put(18, 2, uint64(machine))
	put(20, 4, 1)
	put(24, 8, base+head)               // entry
	put(32, 8, 64)                      // program headers
	put(52, 2, 64)                      // size of this header
	put(54, 2, 56)                      // and of those
	put(56, 2, 1)                       // of which there is one
	put(64, 4, 1)                       // to load
	put(68, 4, 5)                       // to read and run
	put(80, 8, base)                    // there
	put(88, 8, base)                    //
	put(96, 8, uint64(head+len(code)))  // from the file
	put(104, 8, uint64(head+len(code))) // into memory
	put(112, 8, 0x1000)                 // by pages
	return append(elf, code...)
}
