-- +goose Up

-- HTTP endpoints to which an org's events are sent. events is a JSON array of types and patterns.
-- The secrets are sealed. A webhook with deleted_at is deleted with its last delivery.
CREATE TABLE webhook (
    id               BLOB PRIMARY KEY,
    org_id           TEXT NOT NULL,
    url              TEXT NOT NULL,
    events           TEXT NOT NULL,
    description      TEXT NOT NULL,
    enabled          INTEGER NOT NULL,
    disabled_reason  TEXT NOT NULL,
    secret           TEXT NOT NULL,
    old_secret       TEXT NOT NULL,
    old_secret_until INTEGER,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    version          INTEGER NOT NULL,
    deleted_at       INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_webhook_org ON webhook (org_id, id) WHERE deleted_at IS NULL;
CREATE INDEX idx_webhook_deleted ON webhook (id) WHERE deleted_at IS NOT NULL;

-- A random number that each change of a webhook replaces, in the same transaction. Without a row it
-- 1 it is 0, and there has been no webhook.
CREATE TABLE webhook_revision (
    id       INTEGER PRIMARY KEY,
    revision INTEGER NOT NULL
) STRICT;

-- An event on its way to a webhook. id is the event's. due_at is the end of the lease while a server
-- sends it. Rows do not refer to their webhook by a foreign key, so that an event never waits for a
-- webhook that is being changed.
CREATE TABLE delivery (
    webhook_id      BLOB NOT NULL,
    id              BLOB NOT NULL,
    org_id          TEXT NOT NULL,
    event_type      TEXT NOT NULL,
    status          TEXT NOT NULL CHECK (status IN ('pending', 'delivered', 'dead')),
    attempts        INTEGER NOT NULL,
    due_at          INTEGER,
    lease_until     INTEGER NOT NULL,
    fence           INTEGER NOT NULL,
    response_status INTEGER NOT NULL,
    response_body   TEXT NOT NULL,
    error           TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    attempted_at    INTEGER,
    ended_at        INTEGER,
    remove_at       INTEGER NOT NULL,
    payload         BLOB NOT NULL,
    PRIMARY KEY (webhook_id, id)
) STRICT;

CREATE INDEX idx_delivery_due ON delivery (webhook_id, due_at) WHERE status = 'pending';
CREATE INDEX idx_delivery_status ON delivery (webhook_id, status, id);
CREATE INDEX idx_delivery_remove ON delivery (remove_at);

-- +goose Down
DROP TABLE delivery;
DROP TABLE webhook_revision;
DROP TABLE webhook;
