package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"agentd"
	"agentd/hookpoints/payload"
	"agentd/internal/api"
)

const (
	// mostResident is what the daemon may take of the machine's memory while it is attacked, in bytes. What a hook
	// may keep is a fraction of it; what attacks try to take is far more.
	mostResident = 1 << 30
	// underRace is what the race detector makes of it.
	underRace = 8
)

// cmdAttack asks the daemon of the project in the current folder for the decisions of all hooks that
// hooks/attacks.star defines, twice and several at once. Their targets begin with the error that each must end
// with. Meanwhile the hook with the target good must answer each time, and status too.
func cmdAttack(ts *testscript.TestScript, _ bool, _ []string) {
	var targets []string
	for _, m := range regexp.MustCompile(`(?m)^attack\("([^"]+)"`).FindAllStringSubmatch(ts.ReadFile(".agentd/hooks/attacks.star"), -1) {
		targets = append(targets, m[1])
	}
	if len(targets) == 0 || len(ts.BackgroundCmds()) != 1 {
		ts.Fatalf("there are no attacks, or there is no daemon")
	}
	daemon := ts.BackgroundCmds()[0].Process.Pid
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c, err := api.Dial(ctx, ts.MkAbs(".agentd/state/agentd.sock"))
	ts.Check(err)
	defer c.Close()

	const rounds, atOnce = 2, 4
	todo, faults := make(chan string), make(chan error, rounds*len(targets)+2)
	var attackers, others sync.WaitGroup
	for range atOnce {
		attackers.Go(func() {
			for target := range todo {
				faults <- fails(ctx, c, target)
			}
		})
	}
	over := make(chan struct{})
	others.Go(func() { faults <- answers(ctx, c, over) })
	for range rounds {
		for _, target := range targets {
			todo <- target
		}
	}
	close(todo)
	attackers.Wait()
	close(over)
	others.Wait()
	close(faults)
	harm := 0
	for err := range faults {
		if err != nil {
			ts.Logf("%v", err)
			harm++
		}
	}
	if harm > 0 {
		ts.Fatalf("%d answers are wrong", harm)
	}
	most := int64(mostResident)
	if raceDetector {
		most *= underRace
	}
	if n := resident(ts, daemon); n > most {
		ts.Fatalf("the daemon took %d MB of memory, at most %d are for it", n>>20, most>>20)
	}
}

// decides asks for the decision of the hook with a target.
func decides(ctx context.Context, c *api.Client, target string) (agentd.DecideResult, error) {
	call, err := payload.ParseString(`{"name": "x", "tool_id": "x", "implementation_id": null, "parameters": {}, "arguments": {"limit": 100}}`)
	if err != nil {
		return agentd.DecideResult{}, err
	}
	return c.Decide(ctx, agentd.DecideRequest{Point: "tool.before", Payload: call, Scope: payload.NewObject(payload.Field{Name: "target", Value: payload.NewString(target)})})
}

// fails asks a hook that attacks, which must fail as its target says.
func fails(ctx context.Context, c *api.Client, target string) error {
	want, _, _ := strings.Cut(target, "-")
	got, err := decides(ctx, c, target)
	if err != nil {
		return fmt.Errorf("%s: %w", target, err)
	}
	if len(got.Records) != 1 || got.Records[0].Error != want {
		return fmt.Errorf("%s: it came to %s with %+v", target, got.Outcome, got.Records)
	}
	return nil
}

// answers asks the hook that means well, and for the status, until the attacks are over.
func answers(ctx context.Context, c *api.Client, over chan struct{}) error {
	for n := 0; ; n++ {
		got, err := decides(ctx, c, "good")
		if err != nil || got.Outcome != "continue" || got.Payload.Get("arguments").String() != `{"limit":5}` {
			return fmt.Errorf("the hook that means well came to %s %s: %w", got.Outcome, got.Payload, err)
		}
		if s, err := c.Status(ctx); err != nil || len(s.Errors) > 0 {
			return fmt.Errorf("status: %+v: %w", s, err)
		}
		select {
		case <-over:
			if n > 0 {
				return nil
			}
		default:
		}
	}
}

// resident is the most memory that a process ever had, in bytes.
func resident(ts *testscript.TestScript, pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	ts.Check(err)
	m := regexp.MustCompile(`VmHWM:\s*(\d+) kB`).FindSubmatch(text)
	if m == nil {
		ts.Fatalf("the system doesn't say how large the daemon was")
	}
	n, err := strconv.ParseInt(string(m[1]), 10, 64)
	ts.Check(err)
	ts.Logf("the daemon took at most %d MB", n>>10)
	return n << 10
}
