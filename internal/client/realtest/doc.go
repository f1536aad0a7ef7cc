// Package realtest runs real agents' programs against agentd: the program as its makers ship it, with a model
// server of ours on the loopback interface, and agentd as a user would install it. Its tests do, and
// internal/figures, which measures with the same server. Where Node or the program is missing they say so and
// are skipped; make clients installs what can be.
package realtest
