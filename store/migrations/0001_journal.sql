-- An operation as its rows tell it, kept up to date with them. seq is the order of first rows.
CREATE TABLE operations (
    seq        INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    parent     TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    run_id     TEXT    NOT NULL,
    session_id TEXT    NOT NULL,
    instance   TEXT    NOT NULL,
    client     TEXT    NOT NULL,
    agent      TEXT    NOT NULL,
    tool       TEXT    NOT NULL,
    is_foreign INTEGER NOT NULL,
    composite  INTEGER NOT NULL,
    shipped    TEXT    NOT NULL, -- the revisions that it is pinned to
    user       TEXT    NOT NULL,
    project    TEXT    NOT NULL,
    state      TEXT    NOT NULL,
    status     TEXT    NOT NULL,
    attempts   INTEGER NOT NULL,
    began      TEXT,             -- null as long as no row said what the operation is
    updated    TEXT    NOT NULL, -- times are UTC with nine digits after the second, so that text order is time order
    whole      INTEGER NOT NULL, -- nothing is left to compute
    done       INTEGER NOT NULL  -- nothing more will happen by itself
);
CREATE INDEX operations_by_run ON operations (run_id) WHERE run_id <> '';
CREATE INDEX operations_open ON operations (seq) WHERE done = 0;

-- The journal. seq is the commit order of everything.
CREATE TABLE rows (
    seq    INTEGER PRIMARY KEY,
    op     INTEGER NOT NULL REFERENCES operations (seq),
    stage  TEXT    NOT NULL,
    n      INTEGER NOT NULL,
    packed INTEGER NOT NULL, -- 0: body is JSON text, 1: that in zstd; the same for every packed below
    body   BLOB    NOT NULL,
    UNIQUE (op, stage, n)
);

-- Large values, under the SHA-256 of their text.
CREATE TABLE blobs (
    hash   BLOB PRIMARY KEY NOT NULL,
    size   INTEGER NOT NULL, -- of the text
    packed INTEGER NOT NULL,
    text   BLOB    NOT NULL
);

-- The state of hooks. session is '' for the project's.
CREATE TABLE cells (
    session TEXT    NOT NULL,
    name    TEXT    NOT NULL,
    version INTEGER NOT NULL, -- 1, and one more with each write
    packed  INTEGER NOT NULL,
    value   BLOB    NOT NULL,
    PRIMARY KEY (session, name)
) WITHOUT ROWID;

CREATE TABLE meta (
    name  TEXT PRIMARY KEY NOT NULL,
    value TEXT NOT NULL
) WITHOUT ROWID;
