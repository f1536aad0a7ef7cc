package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agentd/operation"
	"agentd/operation/journaltest"
)

// scenes are testdata/scenes/*.txt: hooks, the agent, what a person says, the model's turns, and what
// every witness saw and every commit carried, in one order.
func scenes(t *testing.T, play func(t *testing.T, c journaltest.Case)) {
	journaltest.EachCase(t, "testdata/scenes/*.txt", play)
}

// staged is a scene of a file, ready to be played.
func staged(t *testing.T, of journaltest.Case) *scene {
	t.Helper()
	c := newScene(t, of.Part("hooks.star"), of.Part("agent"), of.Part("turns"))
	c.answer = strings.TrimSpace(of.Part("person"))
	return c
}

// hung ends a scene in which a line that is waited for never comes.
func hung(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestWhatLeavesComesAfterTheCommitThatCarriesIt(t *testing.T) {
	scenes(t, func(t *testing.T, of journaltest.Case) {
		c := staged(t, of)
		res, err := c.play(hung(t))
		if err != nil {
			t.Fatal(err)
		}
		c.note("%s %s", res.Status, strings.TrimSpace(res.Answer+" "+res.Reason))
		got := lines(inOneOrder(c.list))
		of.Wants(t, *update, map[string]string{"order": got}, "order")
	})
}

// inOneOrder sorts what calls that overlap note in any order: that they begin.
func inOneOrder(list []string) []string {
	list = slices.Clone(list)
	begin := func(line string) bool {
		return strings.HasSuffix(line, " begins") || strings.HasPrefix(line, "event tool.started")
	}
	for i := 0; i < len(list); i++ {
		n := i
		for n < len(list) && begin(list[n]) {
			n++
		}
		if n > i+2 {
			slices.Sort(list[i:n])
		}
		i = n
	}
	return list
}

func lines(list []string) string { return strings.Join(list, "\n") + "\n" }

// TestNothingLeavesOnceACommitFails plays each scene again and again, each time with another commit that
// fails, or that is durable and fails all the same: what the witnesses see must be what they saw before
// this commit in the whole scene, and nothing of what comes after.
func TestNothingLeavesOnceACommitFails(t *testing.T) {
	scenes(t, func(t *testing.T, of journaltest.Case) {
		if strings.Contains(of.Part("turns"), "after:") {
			t.Skip("the calls would wait for a commit that never comes")
		}
		whole := staged(t, of)
		if _, err := whole.play(hung(t)); err != nil {
			t.Fatal(err)
		}
		var before [][]string // of each commit
		for i, line := range whole.list {
			if strings.HasPrefix(line, "commit ") {
				before = append(before, whole.list[:i])
			}
		}
		for n := range before {
			lost := n%2 == 1
			t.Run(fmt.Sprintf("commit %d, durable all the same %v", n+1, lost), func(t *testing.T) {
				c := staged(t, of)
				c.failAt, c.lost = n+1, lost
				if _, err := c.play(hung(t)); !errors.Is(err, operation.ErrPersistence) {
					t.Errorf("%v, want ErrPersistence", err)
				}
				same(t, "seen", lines(c.list), lines(before[n]))
			})
		}
	})
}
