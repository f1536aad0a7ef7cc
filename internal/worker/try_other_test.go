//go:build !linux

package worker

import "agentd/hookpoints/payload"

func tries() []payload.Field { return nil }
