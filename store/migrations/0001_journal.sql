-- The journal: what a commit writes. seq is the commit order of everything.
CREATE TABLE rows (
    seq    INTEGER PRIMARY KEY,
    op     INTEGER NOT NULL, -- operations.seq
    stage  TEXT    NOT NULL,
    n      INTEGER NOT NULL,
    prev   INTEGER NOT NULL CHECK (prev < seq), -- the operation's row before, 0 for its first
    id     TEXT,             -- operations.id, in its first row
    at     INTEGER NOT NULL, -- when it was committed, in microseconds since 1970
    packed INTEGER NOT NULL, -- 0: body is JSON text, 1: that in zstd; the same for every packed below
    body   BLOB    NOT NULL
);

-- The operations as their rows tell it up to meta.indexed; what the rows after that change is to be
-- folded in by who reads. So a commit needn't touch the four trees of this table.
CREATE TABLE operations (
    seq        INTEGER PRIMARY KEY, -- the order of first rows
    id         TEXT    NOT NULL UNIQUE,
    last       INTEGER NOT NULL, -- its last row, from which prev leads to all others
    updated    INTEGER NOT NULL, -- when that was committed
    state      TEXT    NOT NULL,
    status     TEXT    NOT NULL,
    attempts   INTEGER NOT NULL,
    whole      INTEGER NOT NULL, -- nothing is left to compute
    done       INTEGER NOT NULL, -- nothing more will happen by itself
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
    began      TEXT              -- RFC 3339 in UTC; null as long as no row said what the operation is
);
CREATE INDEX operations_by_run ON operations (run_id) WHERE run_id <> '';
CREATE INDEX operations_open ON operations (seq) WHERE done = 0;

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
    value ANY NOT NULL
) WITHOUT ROWID;
INSERT INTO meta VALUES ('indexed', 0);
