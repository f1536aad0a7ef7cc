//go:build !hookprogram

package install

// embedded is empty in a build without make: a fresh clone has no agentd-hook yet.
var embedded []byte
