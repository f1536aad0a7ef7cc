package main

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// What the packages of the program may do before main, all of them together: agentd hook pays it at every event
// where no daemon runs. Bytes and allocations are the same on every machine, times aren't. A package that needs
// much of this makes its tables when they are first used instead.
const (
	initBytes  = 3 << 20
	initAllocs = 30_000
	onePackage = initBytes / 4
)

func TestInitialisationStaysWithinItsBudget(t *testing.T) {
	program, err := another()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	bytes, allocs, packages := 0, 0, 0
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line) // init NAME @T ms, C ms clock, B bytes, N allocs
		if len(f) < 11 || f[0] != "init" {
			continue
		}
		b, err := strconv.Atoi(f[7])
		n, err2 := strconv.Atoi(f[9])
		if err != nil || err2 != nil {
			t.Fatalf("inittrace: %q", line)
		}
		if b > onePackage {
			t.Errorf("%s makes %d bytes before main", f[1], b)
		}
		bytes, allocs, packages = bytes+b, allocs+n, packages+1
	}
	if packages < 20 {
		t.Fatalf("only %d packages were traced: %s", packages, out)
	}
	if bytes > initBytes || allocs > initAllocs {
		t.Errorf("%d bytes in %d allocations before main, in %d packages; %d in %d are allowed", bytes, allocs, packages, initBytes, initAllocs)
	}
}
