//go:build !unix

package facts

import "io/fs"

const maxPath = 4096

func identify(fs.FileInfo) identity { return identity{} }
func errnoName(error) string        { return Unknown }
