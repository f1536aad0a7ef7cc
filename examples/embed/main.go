// Embed is agentd inside a program of your own: it pays an order, once. A script caps the amount, a
// hook in Go reserves the money, and both and the payment are in a journal: kill it anywhere and start
// it again. go run ./examples/embed DIR
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"agentd"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/operation"
	"agentd/revision"
	"agentd/store"
)

const script = `hook(id = "cap", version = "v1", point = "tool.before", run = lambda ctx, call: patch(arguments = {"amount": min(call.arguments.amount, 100)}))`
const order = "order-7"

type clock struct{ began time.Time }

func (clock) Now() time.Time { return time.Now() }
func (c clock) Nanos() int64 { return int64(time.Since(c.began)) }

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./examples/embed DIR, a folder for the journal and the ledger")
		os.Exit(2)
	}
	done, err := pay(context.Background(), os.Args[1], nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(done.State, done.Effective)
}

// pay pays one order in a folder. At is told of each place where the process could die.
func pay(ctx context.Context, dir string, at func(place string)) (operation.Done, error) {
	db, err := store.Open(ctx, filepath.Join(dir, "agentd.db"), store.Options{})
	if err != nil {
		return operation.Done{}, err
	}
	defer db.Close()
	ledger := func(what string, in payload.Value) error { // stands for the world outside
		f, err := os.OpenFile(filepath.Join(dir, "ledger"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		_, err2 := fmt.Fprintln(f, what, in.Get("arguments").Get("amount"))
		return errors.Join(err, err2, f.Close())
	}
	reserve := agentd.GoHook{ID: "reserve", Version: "v1", Points: []string{"tool.before"}, Priority: 900, // not ReplaySafe: it does something
		Run: func(_ context.Context, c *hookpoints.Call) ([]hookpoints.Decision, error) {
			return nil, ledger("reserve", c.Payload)
		}}
	rt, err := agentd.Open(agentd.Options{Journal: db, Source: db, Clock: clock{}, Monotonic: clock{time.Now()}, Hooks: []agentd.GoHook{reserve}, At: at})
	if err != nil {
		return operation.Done{}, err
	}
	layer, err := rt.Build(ctx, hookpoints.Shipped, []revision.File{{Path: "hooks/cap.star", Text: []byte(script)}}, nil)
	if err == nil {
		_, err = rt.Serve(ctx, []*revision.Layer{layer})
	}
	if err != nil {
		return operation.Done{}, err
	}
	session, err := rt.Session(ctx, "orders")
	if err == nil {
		err = session.Resume(ctx, order) // what is saved of it isn't done again
	}
	if err != nil {
		return operation.Done{}, err
	}
	input := rt.Points().Point("tool.before").Example.With(payload.Field{Name: "arguments", Value: payload.NewObject(payload.Field{Name: "amount", Value: payload.NewInt(250)})})
	done, err := session.Do(ctx, operation.Action{
		Head:   operation.Head{ID: order + "/pay", Kind: "tool", RunID: order, SessionID: "orders", Tool: "pay", Revisions: rt.Serving().Triple, Began: rt.Now()},
		Points: operation.Points{Before: "tool.before"}, Around: &hookpoints.Around{Now: rt.Now(), Seed: order + "/pay"}, Input: input,
		UnknownText: payload.NewString("nobody knows whether it was paid"),
		Do: func(_ context.Context, in, _ payload.Value) (payload.Value, string, error) {
			return payload.NewString("paid"), operation.Succeeded, ledger("pay", in)
		}})
	return done, errors.Join(err, session.Flush(ctx))
}
