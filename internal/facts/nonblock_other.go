//go:build !unix

package facts

const nonblock = 0
