-- +goose Up

-- Workers as the servers know them. queues, agents and tasks are JSON arrays of names.
CREATE TABLE worker (
    org_id        TEXT NOT NULL,
    id            BLOB NOT NULL,
    version       TEXT NOT NULL,
    queues        TEXT NOT NULL,
    agents        TEXT NOT NULL,
    tasks         TEXT NOT NULL,
    agent_slots   INTEGER NOT NULL,
    task_slots    INTEGER NOT NULL,
    embedded      INTEGER NOT NULL,
    registered_at INTEGER NOT NULL,
    seen_at       INTEGER NOT NULL,
    PRIMARY KEY (org_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_worker_seen ON worker (org_id, seen_at);

-- Queues whose work servers do not give out.
CREATE TABLE queue_pause (
    org_id    TEXT NOT NULL,
    queue     TEXT NOT NULL,
    paused_at INTEGER NOT NULL,
    PRIMARY KEY (org_id, queue)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE queue_pause;
DROP TABLE worker;
