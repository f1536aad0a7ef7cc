package daemon

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"strings"

	"agentd"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/api"
	"agentd/interp"
	"agentd/interp/scripttest"
	"agentd/revision"
)

// TestOptions choose tests.
type TestOptions struct {
	Run  *regexp.Regexp      // names; nil: all
	File func(f string) bool // files, by path in the layer; nil: all
	// Determinism runs each twice, the second time as on another machine: loaded anew, in another order, and
	// where Program is agentd itself, with the hooks in a process with another time zone and language.
	Determinism bool
	Program     string
}

// RunTests runs the test files of a layer. A test sees the hooks of its own layer only, so that it
// says the same on every machine: of a_test.star those of a.star or a.lua, or all where there is neither.
func RunTests(ctx context.Context, rt *agentd.Runtime, layer *revision.Layer, files []revision.File, o TestOptions) (api.TestReport, error) {
	report := api.TestReport{Tests: []api.TestResult{}}
	g := rt.Compose([]*revision.Layer{layer})
	var twice *second
	if o.Determinism {
		var err error
		twice, err = again(ctx, rt, layer, files, o.Program)
		defer twice.close()
		if err != nil {
			return report, err
		}
	}
	for _, f := range files {
		if !revision.IsTest(f.Path) || o.File != nil && !o.File(f.Path) {
			continue
		}
		engine, ok := rt.Builder().Engines.Of(f.Path).(interp.Tester)
		if !ok {
			return report, fmt.Errorf("%s: no language here runs tests in %s files", f.Path, path.Ext(f.Path))
		}
		src := interp.Source{Name: strings.TrimPrefix(f.Path, revision.HooksDir), Text: f.Text}
		about, said := sibling(src.Name, files), []string(nil)
		decide := noted(decider(rt, g, about), &said)
		results, err := scripttest.Run(ctx, engine, src, layer.Module, decide, scripttest.Options{Filter: o.Run})
		if err != nil {
			return report, err
		}
		if o.Determinism {
			var saidAgain []string
			decide := noted(decider(rt, twice.hooks, about), &saidAgain)
			again, err := scripttest.Run(ctx, engine, src, twice.layer.Module, decide, scripttest.Options{Filter: o.Run})
			if err != nil {
				return report, err
			}
			compare(results, again, said, saidAgain)
		}
		for _, r := range results {
			report.Tests = append(report.Tests, api.TestResult{Name: r.Name, OK: r.OK, Message: r.Message, File: revision.HooksDir + r.File, Line: r.Line})
			if r.OK {
				report.Passed++
			} else {
				report.Failed++
			}
		}
	}
	return report, nil
}

// sibling is the script that a test file is about, "" if there is none: of a_test.star that is a.star,
// or else a.lua, and the other way round.
func sibling(test string, files []revision.File) string {
	ext := path.Ext(test)
	base := strings.TrimSuffix(strings.TrimSuffix(test, ext), "_test")
	other := ""
	for _, f := range files {
		name := strings.TrimPrefix(f.Path, revision.HooksDir)
		switch {
		case name == base+ext:
			return name
		case strings.TrimSuffix(name, path.Ext(name)) == base && counts(f.Path):
			other = name
		}
	}
	return other
}

func decider(rt *agentd.Runtime, g *revision.Generation, about string) scripttest.Decide {
	return func(ctx context.Context, q scripttest.Request) (payload.Value, error) {
		req := agentd.DecideRequest{Point: q.Point, Payload: q.Payload, Scope: q.Scope, Kind: q.Kind, Binding: q.Hook, Config: q.Config, Facts: q.Facts, State: q.State,
			Granted: true} // what is granted differs from machine to machine
		if about != "" && q.Hook == "" {
			req.Only = func(b *hookpoints.Binding) bool { return b.File == about }
		}
		res, err := rt.Decide(ctx, g, req)
		if err != nil {
			return payload.Value{}, err
		}
		return payload.From(res)
	}
}
