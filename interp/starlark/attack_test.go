package starlark

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
	"agentd/interp/interptest"

	"go.starlark.net/starlark"
)

const attacks = "attacks/*.star"

func TestAttacksEndTheSameEachTime(t *testing.T) {
	interptest.AttacksEndTheSameEachTime(t, testdata, attacks, arena)
}

func TestAHookAnswersWhileOthersAttack(t *testing.T) {
	interptest.AHookAnswersWhileOthersAttack(t, arena(t), interptest.ReadAttacks(t, testdata, "attacks/sharing.star"))
}

// narrow is what range says on machines with 32 bits, which no agentd is made for: its numbers end there. All
// else that differs is a fault.
const narrow = "in signed 32-bit range"

func TestAttacksComeToTheSameOnEveryMachine(t *testing.T) {
	interptest.AttacksComeToTheSameOnEveryMachine(t, testdata, attacks, narrow, arena(t))
}

func arena(t *testing.T) interptest.Arena {
	t.Helper()
	hook := loadHook(t, `
def run(ctx, call):
    return annotate(n = len(sorted(call.arguments.keys())), t = str(call.arguments.deep))

hook(id = "h", version = "1", run = run)
`)
	return interptest.Arena{
		Attack: attack,
		Decide: func(t *testing.T) string {
			list, use, err := hook.Decide(t.Context(), interptest.Call(t, interptest.Payload, payload.NewObject()))
			return fmt.Sprintf("%+v %+v %v", list, use, err)
		},
		Spare: func(a interptest.Attack, _ interptest.Outcome) int64 {
			if strings.Contains(a.Text, "re.") { // nothing else takes more under the race detector
				return interptest.RaceSlack
			}
			return 0
		},
	}
}

// attack loads an attack in a fresh state. If it defines a hook, the hook decides on a payload, which
// must be what it was afterwards; its function run becomes one. If it has a function attack, that is
// called, and what it returns is converted as respond does.
func attack(ctx context.Context, t *testing.T, a interptest.Attack) interptest.Outcome {
	call := interptest.Call(t, interptest.Payload, interptest.Parse(t, `{"limit": 10, "names": ["a", "b"]}`))
	text, modules, read := a.Files()
	if strings.Contains(text, "\ndef run(") && !strings.Contains(text, "hook(") {
		text += "\nhook(id = \"h\", version = \"1\", run = run)\n"
	}
	src := interp.Source{Name: a.File, Text: []byte(text)}
	before := interptest.Allocated()
	loads := newRun(ctx, interptest.AttackLimits)
	l := newLoading(testEnvironment(), src, modules, interptest.AttackLimits)
	loads.loading = l
	globals, err := loads.loadMain(src)
	use := loads.usage()
	_, compiled := l.source.Used()
	out := interptest.Outcome{Read: read, Charged: use.Bytes + compiled, Text: fmt.Sprintf("loading %+v", use)}
	fn, _ := globals["attack"].(*starlark.Function)
	switch {
	case err != nil:
	case len(l.Defs) > 0:
		var list []hookpoints.Decision
		list, use, err = l.Defs[0].Hook.Decide(ctx, call)
		out.Called(list, use)
	case fn != nil:
		r := newRun(ctx, interptest.AttackLimits)
		var v starlark.Value
		if v, err = r.invoke(fn, nil); err == nil {
			if _, err = r.tree(v, hookpoints.MaxResultDepth); err != nil {
				err = r.fault(err, fn.Position())
			}
		}
		out.Called(nil, r.usage())
	}
	out.Allocated = interptest.Allocated() - before
	out.Err = err
	out.Text = fmt.Sprintf("%v %s", err, out.Text)
	if got := call.Payload.String(); got != interptest.Parse(t, interptest.Payload).String() {
		t.Errorf("the payload became %s", got)
	}
	return out
}
