package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"agentd/store"
)

// beside writes down the requests that a model gets and, while each waits for its answer, how the calls
// of the project stand in its database: a line "N: OPERATION STATE, ...", each without its run.
type beside struct {
	requests, journal io.Writer
	database          string
	n                 int
}

// Write takes one request.
func (b *beside) Write(request []byte) (int, error) {
	b.n++
	stand, err := b.stand(context.Background())
	if err != nil {
		stand = err.Error()
	}
	_, err = fmt.Fprintf(b.journal, "%d: %s\n", b.n, stand)
	n, failed := b.requests.Write(request)
	return n, errors.Join(err, failed)
}

func (b *beside) stand(ctx context.Context) (string, error) {
	r, err := store.OpenReader(ctx, b.database, nil)
	if err != nil {
		return "", err
	}
	defer r.Close()
	ops, err := r.Operations(ctx, store.Filter{})
	var out []string
	for _, o := range ops {
		if o.Head.Kind == "tool" || o.Head.Kind == "model.chat" {
			sum, _, err := r.Operation(ctx, o.Head.ID)
			if err != nil {
				return "", err
			}
			state := string(sum.State)
			if sum.Output.Exists() {
				state += " shown"
			}
			out = append(out, strings.TrimPrefix(o.Head.ID, o.Head.RunID+"/t1/")+" "+state)
		}
	}
	return strings.Join(out, ", "), err
}

// cmdFails makes the database of the project in the current folder refuse the N-th row of a stage that
// is written from now on, and all after it, as a full disk does: fails STAGE N. "fails never" ends that.
func cmdFails(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite3", ts.MkAbs(filepath.Join(".agentd", "state", "agentd.db")))
	ts.Check(err)
	defer db.Close()
	_, err = db.Exec("DROP TRIGGER IF EXISTS fails")
	ts.Check(err)
	if len(args) == 1 && args[0] == "never" {
		return
	}
	if len(args) != 2 {
		ts.Fatalf("usage: fails STAGE N, or fails never")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	had := 0
	ts.Check(db.QueryRow("SELECT count(*) FROM rows WHERE stage = ?", args[0]).Scan(&had))
	_, err = db.Exec(fmt.Sprintf("CREATE TRIGGER fails BEFORE INSERT ON rows WHEN NEW.stage = '%s' AND (SELECT count(*) FROM rows WHERE stage = '%s') >= %d BEGIN SELECT RAISE(ABORT, 'no space left'); END",
		args[0], args[0], had+n-1))
	ts.Check(err)
}
