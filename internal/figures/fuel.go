package main

import (
	"context"
	"fmt"
	"os"
	"regexp"

	"agentd/internal/figures/charges"
)

// fuel prints what a unit of fuel takes, thing by thing, and sums it up.
func fuel(ctx context.Context, only *regexp.Regexp) ([]row, error) {
	fmt.Println(charges.Head)
	all, off := 0, 0
	err := charges.Measure(ctx, only, func(r charges.Result) {
		charges.Print(os.Stdout, r)
		all++
		if r.Off() != "" {
			off++
		}
	})
	if err != nil {
		return nil, err
	}
	return []row{{fmt.Sprintf("charges that are off by more than a factor of %v", charges.Factor), fmt.Sprintf("all (%d)", all), fmt.Sprint(off), "0"}}, nil
}
