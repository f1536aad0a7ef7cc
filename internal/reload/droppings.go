package reload

import "strings"

// isDropping reports whether an entry is something that editors and tools leave beside the files
// they work on: hidden names, backups, swap and lock files, and the 4913 that vim tries a folder
// with. The folders that Kubernetes swaps behind links are hidden too; the links lead there.
func isDropping(name string) bool {
	switch {
	case strings.HasPrefix(name, "."), strings.HasSuffix(name, "~"), name == "4913":
		return true
	case strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#"):
		return true
	}
	for _, end := range []string{".swp", ".swo", ".swx"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}
