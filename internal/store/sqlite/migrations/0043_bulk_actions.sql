-- +goose Up

-- Bulk actions on executions. selection, statuses and errors are JSON.
CREATE TABLE bulk_action (
    org_id          TEXT NOT NULL,
    id              BLOB NOT NULL,
    action          TEXT NOT NULL,
    selection       TEXT NOT NULL,
    statuses        TEXT NOT NULL,
    reason          TEXT NOT NULL,
    status          TEXT NOT NULL CHECK (status IN ('running', 'completed')),
    matched         INTEGER NOT NULL,
    done            INTEGER NOT NULL,
    skipped         INTEGER NOT NULL,
    failed          INTEGER NOT NULL,
    errors          TEXT NOT NULL,
    key_id          BLOB,
    idempotency_key TEXT,
    request_hash    BLOB,
    created_at      INTEGER NOT NULL,
    ended_at        INTEGER,
    PRIMARY KEY (org_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_bulk_action_running ON bulk_action (org_id, id) WHERE status = 'running';
CREATE INDEX idx_bulk_action_key ON bulk_action (org_id, idempotency_key, created_at) WHERE idempotency_key IS NOT NULL;
CREATE INDEX idx_bulk_action_ended ON bulk_action (org_id, ended_at) WHERE ended_at IS NOT NULL;

-- The ids of the executions of a bulk action that runs, one after the other.
CREATE TABLE bulk_action_executions (
    org_id         TEXT NOT NULL,
    bulk_action_id BLOB NOT NULL,
    ids            BLOB NOT NULL,
    PRIMARY KEY (org_id, bulk_action_id)
) STRICT;

-- +goose Down
DROP TABLE bulk_action_executions;
DROP TABLE bulk_action;
