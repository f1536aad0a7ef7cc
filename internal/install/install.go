// Package install registers agentd's hook in the configuration of other agents, and takes it out again. Where
// each client keeps its configuration, and how that looks, is data: the table in clients.go.
package install
