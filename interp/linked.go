package interp

import "runtime/debug"

// Linked is the version of a module that was really linked into this program, or the one given where
// the program doesn't say it, as tests don't.
func Linked(module, otherwise string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return otherwise
	}
	for _, dep := range info.Deps {
		if dep.Path != module {
			continue
		}
		if dep.Replace != nil {
			return dep.Replace.Version
		}
		return dep.Version
	}
	return otherwise
}
