package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations lists the migrations by number, the first at 0. Their names sort by it.
func migrations() []string {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		panic(err) // the pattern is fixed
	}
	return names
}

// migrate brings a database from a version up to date, each step in a transaction of its own, so
// that one which is interrupted goes on where it was. The first step of a database that gets a key
// writes the entry that says so, so that none is ever half encrypted.
func migrate(ctx context.Context, conn *sql.Conn, path string, from int, entry []byte, at func(place string)) error {
	for i, name := range migrations() {
		if i < from {
			continue
		}
		text, err := migrationFiles.ReadFile(name)
		if err != nil {
			return err
		}
		more := ""
		if i == 0 && entry != nil {
			more = fmt.Sprintf("INSERT INTO meta VALUES ('%s', x'%x');", keyEntry, entry)
		}
		script := fmt.Sprintf("BEGIN IMMEDIATE;\n%s\n%s PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT", text, more, applicationID, i+1)
		at("migrate")
		if _, err := conn.ExecContext(ctx, script); err != nil {
			_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
			return fmt.Errorf("migrate to version %d (%s): %w", i+1, name, explained(path, err))
		}
		at("migrated")
	}
	return nil
}
