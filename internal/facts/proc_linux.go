package facts

import "golang.org/x/sys/unix"

func isProc(dir string) bool {
	var s unix.Statfs_t
	return unix.Statfs(dir, &s) == nil && s.Type == unix.PROC_SUPER_MAGIC
}
