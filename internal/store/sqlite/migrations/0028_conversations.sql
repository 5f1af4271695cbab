-- +goose Up

-- A conversation of the Responses endpoint. response_id is the id of its next
-- response; items and bytes count what is pending, which is in conversation_item.
-- mark names the last addition.
CREATE TABLE conversation (
    id          TEXT PRIMARY KEY,
    org_id      TEXT NOT NULL,
    key_id      BLOB,
    response_id TEXT NOT NULL,
    items       INTEGER NOT NULL,
    bytes       INTEGER NOT NULL,
    metadata    TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    executions  INTEGER NOT NULL,
    mark        TEXT
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX idx_conversation_response ON conversation (response_id);
CREATE INDEX idx_conversation_key ON conversation (key_id, bytes)
    WHERE key_id IS NOT NULL;

-- What a client added to a conversation since its last response.
CREATE TABLE conversation_item (
    conversation_id TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
    number          INTEGER NOT NULL,
    item            TEXT NOT NULL,
    PRIMARY KEY (conversation_id, number)
) STRICT;

-- The executions that a conversation was in, the oldest first.
CREATE TABLE conversation_execution (
    conversation_id    TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
    number             INTEGER NOT NULL,
    agent_execution_id BLOB NOT NULL REFERENCES agent_execution (id) ON DELETE CASCADE,
    PRIMARY KEY (conversation_id, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_conversation_execution ON conversation_execution (agent_execution_id);

-- The responses of an execution in their order.
CREATE INDEX idx_agent_response_pos ON agent_response (agent_execution_id, first_pos);

-- +goose Down
DROP INDEX idx_agent_response_pos;
DROP TABLE conversation_execution;
DROP TABLE conversation_item;
DROP TABLE conversation;
