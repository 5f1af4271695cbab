-- +goose Up

-- Workers as the servers know them. queues, agents and tasks are JSON arrays of names.
CREATE TABLE IF NOT EXISTS worker (
    org_id        TEXT COLLATE "C" NOT NULL,
    id            UUID NOT NULL,
    version       TEXT NOT NULL,
    queues        TEXT NOT NULL,
    agents        TEXT NOT NULL,
    tasks         TEXT NOT NULL,
    agent_slots   BIGINT NOT NULL,
    task_slots    BIGINT NOT NULL,
    embedded      BIGINT NOT NULL,
    registered_at BIGINT NOT NULL,
    seen_at       BIGINT NOT NULL,
    PRIMARY KEY (org_id, id)
);

CREATE INDEX IF NOT EXISTS idx_worker_seen ON worker (org_id, seen_at);

-- Queues whose work servers do not give out.
CREATE TABLE IF NOT EXISTS queue_pause (
    org_id    TEXT COLLATE "C" NOT NULL,
    queue     TEXT COLLATE "C" NOT NULL,
    paused_at BIGINT NOT NULL,
    PRIMARY KEY (org_id, queue)
);

-- +goose Down
DROP TABLE queue_pause;
DROP TABLE worker;
