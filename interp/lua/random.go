package lua

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	lua "github.com/yuin/gopher-lua"
)

// source is where math.random gets its numbers. Its seed is that of the operation, so that the same call
// computed again draws the same numbers; each call of a hook begins anew.
func (r *run) source() (*rand.PCG, error) {
	if r.random != nil {
		return r.random, nil
	}
	if r.loading != nil {
		return nil, errors.New("math.random draws by the seed of an operation, and there is none while a file is loaded")
	}
	if err := r.charge(64, 0); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte("math.random " + r.seed))
	r.random = rand.NewPCG(binary.LittleEndian.Uint64(sum[:8]), binary.LittleEndian.Uint64(sum[8:16]))
	return r.random, nil
}

// randomNumber is math.random(): a number from 0 up to 1, math.random(n): an integer from 1 to n, and
// math.random(m, n).
func randomNumber(r *run, L *lua.LState) (int, error) {
	src, err := r.source()
	if err != nil {
		return 0, err
	}
	unit := float64(src.Uint64()>>11) / (1 << 53)
	if L.GetTop() == 0 {
		L.Push(lua.LNumber(unit))
		return 1, nil
	}
	bounds := []float64{1, 0}
	for i := 1; i <= min(L.GetTop(), 2); i++ {
		f, err := numberOperand(r, L, i, "random")
		if err != nil {
			return 0, err
		}
		if f = math.Floor(f); !(math.Abs(f) <= maxExact) {
			return 0, badArgument(i, "random", fmt.Sprintf("number %s has no integer representation", numberText(lua.LNumber(f))))
		}
		if bounds[1] = f; L.GetTop() > 1 && i == 1 {
			bounds[0] = f
		}
	}
	low, high := bounds[0], bounds[1]
	if low > high || high-low >= maxExact {
		return 0, badArgument(min(L.GetTop(), 2), "random", "interval is empty or too large")
	}
	L.Push(lua.LNumber(low + math.Floor(float64(unit*(high-low+1)))))
	return 1, nil
}
