CREATE TABLE revisions (
    id       TEXT    PRIMARY KEY NOT NULL,
    layer    INTEGER NOT NULL,
    parent   TEXT    NOT NULL,
    note     TEXT    NOT NULL,
    created  TEXT    NOT NULL, -- RFC 3339 in UTC
    listed   INTEGER, -- the order of publishing; null if it was only served
    packed   INTEGER NOT NULL,
    manifest BLOB    NOT NULL
) WITHOUT ROWID;

CREATE TABLE revision_files (
    revision TEXT NOT NULL REFERENCES revisions (id),
    path     TEXT NOT NULL,
    hash     BLOB NOT NULL REFERENCES blobs (hash),
    PRIMARY KEY (revision, path)
) WITHOUT ROWID;

CREATE TABLE heads (
    layer    INTEGER PRIMARY KEY,
    revision TEXT    NOT NULL REFERENCES revisions (id)
);
