package facts

import (
	"path"
	"strings"
)

// What a name in /proc is to a path that leads through it.
const (
	procPlain   = iota // what it looks like
	procProcess        // the folder of the process that opens the path: kept by this name
	procCwd            // the working directory of that process
	procRoot           // its root
	procOpaque         // something of a process that can't be told from here
)

const threadSelf = "thread-self"

// procLink tells by a name relative to the root of /proc. Where only a part of /proc is mounted, the
// names come without the process, and all that could be of one is opaque.
func procLink(name string) int {
	switch name {
	case "self", threadSelf:
		return procProcess
	case "self/cwd", threadSelf + "/cwd":
		return procCwd
	case "self/root", threadSelf + "/root":
		return procRoot
	}
	dir, base := path.Split(name)
	switch base {
	case "cwd", "root", "exe":
		return procOpaque
	}
	switch path.Base(strings.TrimSuffix(dir, "/")) {
	case "fd", "ns", "map_files":
		return procOpaque
	}
	return procPlain
}
