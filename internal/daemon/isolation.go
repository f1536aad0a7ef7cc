package daemon

import (
	"agentd/internal/config"
	"agentd/internal/worker"
	"agentd/interp"
)

// isolation is where hooks run that say isolate; nil where it isn't known what program is a worker.
func isolation(p config.Places, pool *worker.Pool) interface {
	Engine(suffix string, inner interp.Engine, untrusted bool) interp.Engine
} {
	if p.Program == "" {
		return nil
	}
	return pool
}
