//go:build hookprogram

package install

import _ "embed" // the program that make build built just before

//go:embed agentd-hook
var embedded []byte
