//go:build !linux

package facts

func isProc(string) bool { return false }
