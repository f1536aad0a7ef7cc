//go:build !linux

package worker

import "agentd/hookpoints/payload"

func tries(string, []string) []payload.Field { return nil }
