package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	bare "go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/figures/charges"
	"agentd/interp"
	"agentd/interp/starlark"
)

// twin is a hook, and a function that does the same on plain values.
type twin struct {
	what, hook, plain, payload, want string
}

var twins = []twin{
	{"a hook that does nothing", "return None", "return None", callText(1 << 10), "at most 2.5"},
	{"a hook that clamps a limit",
		"limit = call.arguments.get('limit')\n    if limit == None or limit <= 100:\n        return None\n    return patch(arguments = call.arguments | {'limit': 100})",
		"limit = call['arguments'].get('limit')\n    if limit == None or limit <= 100:\n        return None\n    return {'arguments': call['arguments'] | {'limit': 100}}",
		callText(1 << 10), "at most 2"},
	{"a hook that looks at a command",
		"command = call.arguments.get('command')\n    if call.name != 'shell' or not command:\n        return None\n    for word in command.split(' '):\n        if word in ('sudo', 'doas') or word.startswith('--force'):\n            return reject('not here')\n    return None",
		"command = call['arguments'].get('command')\n    if call['name'] != 'shell' or not command:\n        return None\n    for word in command.split(' '):\n        if word in ('sudo', 'doas') or word.startswith('--force'):\n            return {'reject': 'not here'}\n    return None",
		`{"name":"shell","arguments":{"command":"git commit -m fix --no-verify && git push origin main && rm -rf build dist"}}`, "at most 2"},
	{"a hook that looks at paths",
		"for p in call.arguments.get('paths', []):\n        if p.startswith('/etc/') or '..' in p or p.endswith('.pem'):\n            return reject('not ' + p)\n    return None",
		"for p in call['arguments'].get('paths', []):\n        if p.startswith('/etc/') or '..' in p or p.endswith('.pem'):\n            return {'reject': 'not ' + p}\n    return None",
		`{"name":"read","arguments":{"paths":["cmd/agentd/main.go","internal/daemon/daemon.go","docs/limits.md","go.mod","Makefile"]}}`, "at most 2"},
	{"a hook that walks a whole payload of 10 KB",
		"n = 0\n    for row in call.arguments['rows']:\n        n += row['count'] + len(row['name'])\n        for tag in row['tags']:\n            n += len(tag)\n    return None",
		"n = 0\n    for row in call['arguments']['rows']:\n        n += row['count'] + len(row['name'])\n        for tag in row['tags']:\n            n += len(tag)\n    return None",
		rowsText(160), "at most 3"},
}

func rowsText(n int) string {
	row := `{"name":"a name of a row","count":12345,"tags":["red","green"]},`
	return `{"name":"orders-search","arguments":{"rows":[` + strings.TrimSuffix(strings.Repeat(row, n), ",") + `]}}`
}

// metered is what metering costs: hooks on a payload whose tree exists, against the interpreter as it is on
// values that exist.
func metered(ctx context.Context, _ string) ([]row, error) {
	var rows []row
	for _, t := range twins {
		hooked, err := t.hooked(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.what, err)
		}
		plain, err := t.plainly()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.what, err)
		}
		got, err := inTurn(hooked, plain)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.what, err)
		}
		rows = append(rows, row{t.what, "plain go.starlark.net (" + micros(got[1]) + ")", ratio(got[0], got[1]) + " (" + micros(got[0]) + ")", t.want})
	}
	return rows, nil
}

// inTurn is the least time of the processor that each of some functions takes, of several turns: the
// wall clock tells more about what else a machine does.
func inTurn(funcs ...func() error) ([]float64, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const turn, turns = 20 * time.Millisecond, 15
	least := make([]float64, len(funcs))
	for range turns {
		for i, f := range funcs {
			start, n := charges.Now(), 0
			for ; charges.Now()-start < int64(turn); n += 32 {
				for range 32 {
					if err := f(); err != nil {
						return nil, err
					}
				}
			}
			if each := float64(charges.Now()-start) / float64(n); least[i] == 0 || each < least[i] {
				least[i] = each
			}
		}
	}
	return least, nil
}

func (t twin) hooked(ctx context.Context) (func() error, error) {
	text := "def run(ctx, call):\n    " + t.hook + "\nhook(id = \"h\", version = \"1\", run = run)\n"
	defs, err := starlark.New().Load(ctx, interp.Source{Name: "twin.star", Text: []byte(text)}, nil, meter.Default)
	if err != nil {
		return nil, err
	}
	v, err := payload.ParseString(t.payload)
	if err != nil {
		return nil, err
	}
	c := &hookpoints.Call{
		Point: hookpoints.Standard().Point("tool.before"), Binding: &hookpoints.Binding{BindingID: "h", Config: payload.NewObject()},
		Payload: v, Facts: payload.NewObject(), Missing: payload.NewObject(), State: payload.NewObject(), Around: &hookpoints.Around{Now: time.Unix(0, 0), Seed: "figures"},
	}
	return func() error {
		_, _, err := defs[0].Hook.Decide(ctx, c)
		return err
	}, nil
}

func (t twin) plainly() (func() error, error) {
	text := "def run(ctx, call):\n    " + t.plain + "\n"
	g, err := bare.ExecFileOptions(&syntax.FileOptions{}, &bare.Thread{}, "twin.star", text, nil)
	if err != nil {
		return nil, err
	}
	v, err := payload.ParseString(t.payload)
	if err != nil {
		return nil, err
	}
	call, err := plainValue(v)
	if err != nil {
		return nil, err
	}
	call.Freeze()
	args := bare.Tuple{bare.NewDict(0), call}
	return func() error {
		thread := &bare.Thread{}
		thread.SetMaxExecutionSteps(uint64(meter.Default.Fuel))
		_, err := bare.Call(thread, g["run"], args, nil)
		return err
	}, nil
}

// plainValue is a payload as the interpreter's own values.
func plainValue(v payload.Value) (bare.Value, error) {
	switch v.Kind() {
	case payload.Object:
		d := bare.NewDict(v.Len())
		for name, kid := range v.Members() {
			k, err := plainValue(kid)
			if err == nil {
				err = d.SetKey(bare.String(name), k)
			}
			if err != nil {
				return nil, err
			}
		}
		return d, nil
	case payload.Array:
		var items []bare.Value
		for kid := range v.Items() {
			k, err := plainValue(kid)
			if err != nil {
				return nil, err
			}
			items = append(items, k)
		}
		return bare.NewList(items), nil
	case payload.Number:
		n, ok := v.Int64()
		if !ok {
			return nil, fmt.Errorf("%s is no small integer", v)
		}
		return bare.MakeInt64(n), nil
	case payload.String:
		return bare.String(v.Text()), nil
	case payload.Bool:
		return bare.Bool(v.IsTrue()), nil
	}
	return bare.None, nil
}
