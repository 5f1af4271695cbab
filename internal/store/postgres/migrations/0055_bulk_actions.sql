-- +goose Up

-- Bulk actions on executions. selection, statuses and errors are JSON.
CREATE TABLE IF NOT EXISTS bulk_action (
    org_id          TEXT COLLATE "C" NOT NULL,
    id              UUID NOT NULL,
    action          TEXT NOT NULL,
    selection       TEXT NOT NULL,
    statuses        TEXT NOT NULL,
    reason          TEXT NOT NULL,
    status          TEXT COLLATE "C" NOT NULL CHECK (status IN ('running', 'completed')),
    matched         BIGINT NOT NULL,
    done            BIGINT NOT NULL,
    skipped         BIGINT NOT NULL,
    failed          BIGINT NOT NULL,
    errors          TEXT NOT NULL,
    key_id          UUID,
    idempotency_key TEXT COLLATE "C",
    request_hash    BYTEA,
    created_at      BIGINT NOT NULL,
    ended_at        BIGINT,
    PRIMARY KEY (org_id, id)
);

CREATE INDEX IF NOT EXISTS idx_bulk_action_running ON bulk_action (org_id, id) WHERE status = 'running';
CREATE INDEX IF NOT EXISTS idx_bulk_action_key ON bulk_action (org_id, idempotency_key, created_at) WHERE idempotency_key IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_bulk_action_ended ON bulk_action (org_id, ended_at) WHERE ended_at IS NOT NULL;

-- The ids of the executions of a bulk action that runs, one after the other.
CREATE TABLE IF NOT EXISTS bulk_action_executions (
    org_id         TEXT COLLATE "C" NOT NULL,
    bulk_action_id UUID NOT NULL,
    ids            BYTEA NOT NULL,
    PRIMARY KEY (org_id, bulk_action_id)
);

-- +goose Down
DROP TABLE bulk_action_executions;
DROP TABLE bulk_action;
