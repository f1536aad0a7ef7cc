package builtins

// Glob compiles a glob of the glob module for the host's own lists, whose length nobody has to pay
// for: scripts and configuration then mean the same by it.
func Glob(text string) (match func(name string) bool, err error) {
	p, err := compileGlob(text)
	if err != nil {
		return nil, err
	}
	return p.re.MatchString, nil
}
