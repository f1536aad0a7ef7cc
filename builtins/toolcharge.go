package builtins

import (
	"strings"

	"agentd/builtins/meter"
	"agentd/hookpoints/payload"
)

// What is read of a call: the fields that have names of the lists, and what is in them.
type toolReach struct{ items, text int64 }

func (r *toolReach) add(v payload.Value, depth int) {
	r.items++
	r.text += int64(v.TextLen())
	if depth == 0 {
		return
	}
	for item := range v.Items() {
		r.add(item, depth-1)
	}
}

// What looking for all the names in a call's arguments, and for those of paths in an object, is charged as: a name
// that isn't there costs less than an item.
const (
	toolLookups  = 32
	pathLookups  = 20
	innerLookups = 8 // in a call in a call, beside those of paths
)

// pathItems is what a path is charged as that comes beside others: it is looked for among them, and kept.
const pathItems = 4

// commandsCharge: a command's words are quoted, which makes them at most four times as long and two more.
func commandsCharge(args []payload.Value) meter.Cost {
	return commandsCost(args[0].Get("name"), toolInput(args[0]), false)
}

func commandsCost(tool, in payload.Value, within bool) meter.Cost {
	var r toolReach
	lookups := int64(toolLookups)
	if within {
		lookups = innerLookups
	}
	for _, name := range commandNames {
		v := in.Get(name)
		if within && !v.Exists() {
			continue
		}
		r.add(v, 1)
		for item := range v.Items() {
			for _, name := range commandNames {
				r.add(item.Get(name), 1)
			}
		}
	}
	r.text += int64(tool.TextLen())
	for _, more := range []payload.Value{in.Get("args"), in.Get("input"), in.Get("chars"), in.Get("task").Get("command"), in.Get("task").Get("args")} {
		if more.Exists() {
			r.add(more, 1)
		}
	}
	cost := charge(meter.Mul(r.text, 2), lookups+meter.Mul(r.items, 4), meter.Mul(r.text, 4)+meter.Mul(r.items, 16))
	return withInner(cost, in, commandsCost)
}

// withInner adds what the calls in a call cost, each as if it were one of its own.
func withInner(cost meter.Cost, in payload.Value, of func(tool, in payload.Value, within bool) meter.Cost) meter.Cost {
	for call := range in.Get("tool_calls").Items() {
		more := charge(0, 1, 0)
		if args := call.Get("parameters"); args.Kind() == payload.Object {
			more = of(call.Get("tool"), args, true)
		}
		cost.Fuel += more.Fuel
		cost.Bytes += more.Bytes
	}
	return cost
}

// patchLine is the shortest line of a patch that names a file.
const patchLine = int64(len("*** Move to: x\n"))

func pathsCharge(args []payload.Value) meter.Cost {
	return pathsCost(payload.Value{}, toolInput(args[0]), false)
}

func pathsCost(_, in payload.Value, within bool) meter.Cost {
	var named, patches toolReach
	each := func(v payload.Value) {
		named.items += pathLookups
		found := int64(0)
		for _, names := range [][]string{pathNames, addresses} {
			for _, name := range names {
				if p := v.Get(name); p.Kind() == payload.String {
					found++
					named.text += int64(p.TextLen())
				}
			}
		}
		named.items += pathItems * max(found-1, 0)
	}
	each(in)
	for _, list := range pathLists {
		v := in.Get(list)
		for item := range v.Items() {
			named.add(item, 0)
			each(item)
		}
		for name := range v.Members() {
			named.items += pathItems
			named.text += int64(len(name))
		}
	}
	lookups := int64(1)
	if !within {
		lookups += toolLookups + int64(len(patchNames)) - 1
	}
	heads := func(v payload.Value) {
		if v.Kind() == payload.String { // two files for each head of a diff
			patches.items += 2 * pathItems * int64(strings.Count(v.Text(), "\n+++ "))
		}
	}
	for _, name := range patchNames {
		if v := in.Get(name); v.Exists() {
			patches.add(v, 1)
			heads(v)
			for item := range v.Items() {
				heads(item)
			}
			if !within {
				patches.items--
			}
		}
	}
	text := named.text + patches.text
	cost := charge(meter.Mul(text, 4), lookups+named.items+patches.items+patches.text/patchLine, meter.Mul(text, 2))
	return withInner(cost, in, pathsCost)
}
