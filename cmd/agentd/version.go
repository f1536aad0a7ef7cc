package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"agentd/builtins"
	"agentd/builtins/meter"
)

// version is set when a release is built.
var version = "dev"

func versionVerb(e *env) *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print what this is", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		v := struct {
			Version  string            `json:"version"`
			Go       string            `json:"go"`
			Platform string            `json:"platform"`
			Schedule int               `json:"schedule"`
			Builtins int               `json:"builtins"`
			Modules  map[string]string `json:"modules"`
		}{version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, meter.Schedule, builtins.Version, map[string]string{}}
		if info, ok := debug.ReadBuildInfo(); ok {
			for _, m := range info.Deps {
				v.Modules[m.Path] = m.Version
			}
		}
		if e.json {
			return e.print(v)
		}
		e.say("agentd %s %s %s", v.Version, v.Go, v.Platform)
		return nil
	}}
}
