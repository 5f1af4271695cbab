-- +goose Up

-- General durable streams: content that is appended by clients and belongs to no
-- execution. tail is the number of bytes of all its content.
CREATE TABLE durable_stream (
    number       INTEGER PRIMARY KEY,
    id           BLOB NOT NULL UNIQUE,
    org_id       TEXT NOT NULL,
    path         TEXT NOT NULL,
    content_type TEXT NOT NULL,
    tail         INTEGER NOT NULL,
    closed       INTEGER NOT NULL,
    seq          TEXT,
    closed_by    TEXT,
    closed_epoch INTEGER,
    closed_seq   INTEGER,
    created_at   INTEGER NOT NULL,
    deleted      INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE UNIQUE INDEX idx_durable_stream_path ON durable_stream (org_id, path)
    WHERE deleted = 0;

-- Those whose rows are being deleted.
CREATE INDEX idx_durable_stream_dead ON durable_stream (number)
    WHERE deleted = 1;

-- The content, a row or more for each append; upto is the position after it.
CREATE TABLE durable_stream_chunk (
    stream_id BLOB NOT NULL REFERENCES durable_stream (id) ON DELETE CASCADE,
    upto      INTEGER NOT NULL,
    content   BLOB NOT NULL,
    PRIMARY KEY (stream_id, upto)
) STRICT, WITHOUT ROWID;

-- How far each producer has come: what it sends again is known by it.
CREATE TABLE durable_stream_producer (
    stream_id BLOB NOT NULL REFERENCES durable_stream (id) ON DELETE CASCADE,
    producer  TEXT NOT NULL,
    epoch     INTEGER NOT NULL,
    seq       INTEGER NOT NULL,
    PRIMARY KEY (stream_id, producer)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE durable_stream_producer;
DROP TABLE durable_stream_chunk;
DROP TABLE durable_stream;
