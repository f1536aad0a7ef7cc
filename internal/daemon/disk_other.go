//go:build !unix

package daemon

func freeSpace(string) (int64, bool) { return 0, false }
func noSpace(error) bool             { return false }
func refused(error) bool             { return false }
