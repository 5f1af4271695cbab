-- +goose Up

-- HTTP endpoints to which an org's events are sent. events is a JSON array of types and patterns.
-- The secrets are sealed. A webhook with deleted_at is deleted with its last delivery.
CREATE TABLE IF NOT EXISTS webhook (
    id               UUID PRIMARY KEY,
    org_id           TEXT COLLATE "C" NOT NULL,
    url              TEXT NOT NULL,
    events           TEXT NOT NULL,
    description      TEXT NOT NULL,
    enabled          BIGINT NOT NULL,
    disabled_reason  TEXT NOT NULL,
    secret           TEXT NOT NULL,
    old_secret       TEXT NOT NULL,
    old_secret_until BIGINT,
    created_at       BIGINT NOT NULL,
    updated_at       BIGINT NOT NULL,
    version          BIGINT NOT NULL,
    deleted_at       BIGINT
);

CREATE INDEX IF NOT EXISTS idx_webhook_org ON webhook (org_id, id) WHERE deleted_at IS NULL;
CREATE INDEX IF NOT EXISTS idx_webhook_deleted ON webhook (id) WHERE deleted_at IS NOT NULL;

-- A random number that each change of a webhook replaces, in the same transaction. Without a row it
-- 1 it is 0, and there has been no webhook.
CREATE TABLE IF NOT EXISTS webhook_revision (
    id       BIGINT PRIMARY KEY,
    revision BIGINT NOT NULL
);

-- An event on its way to a webhook. id is the event's. due_at is the end of the lease while a server
-- sends it. Rows do not refer to their webhook by a foreign key, so that an event never waits for a
-- webhook that is being changed.
CREATE TABLE IF NOT EXISTS delivery (
    webhook_id      UUID NOT NULL,
    id              UUID NOT NULL,
    org_id          TEXT COLLATE "C" NOT NULL,
    event_type      TEXT NOT NULL,
    status          TEXT NOT NULL CHECK (status IN ('pending', 'delivered', 'dead')),
    attempts        BIGINT NOT NULL,
    due_at          BIGINT,
    lease_until     BIGINT NOT NULL,
    fence           BIGINT NOT NULL,
    response_status BIGINT NOT NULL,
    response_body   TEXT NOT NULL,
    error           TEXT NOT NULL,
    created_at      BIGINT NOT NULL,
    attempted_at    BIGINT,
    ended_at        BIGINT,
    remove_at       BIGINT NOT NULL,
    payload         BYTEA NOT NULL,
    PRIMARY KEY (webhook_id, id)
);

CREATE INDEX IF NOT EXISTS idx_delivery_due ON delivery (webhook_id, due_at) WHERE status = 'pending';
CREATE INDEX IF NOT EXISTS idx_delivery_status ON delivery (webhook_id, status, id);
CREATE INDEX IF NOT EXISTS idx_delivery_remove ON delivery (remove_at);

-- +goose Down
DROP TABLE delivery;
DROP TABLE webhook_revision;
DROP TABLE webhook;
