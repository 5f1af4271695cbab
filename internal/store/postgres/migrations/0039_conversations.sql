-- +goose Up

LOCK TABLE agent_execution, agent_response IN ACCESS EXCLUSIVE MODE; -- as in 0030

-- A conversation of the Responses endpoint. response_id is the id of its next
-- response; items and bytes count what is pending, which is in conversation_item.
-- mark names the last addition.
CREATE TABLE IF NOT EXISTS conversation (
    id          TEXT COLLATE "C" PRIMARY KEY,
    org_id      TEXT COLLATE "C" NOT NULL,
    key_id      UUID,
    response_id TEXT COLLATE "C" NOT NULL,
    items       BIGINT NOT NULL,
    bytes       BIGINT NOT NULL,
    metadata    TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    executions  BIGINT NOT NULL,
    mark        TEXT
);

CREATE UNIQUE INDEX IF NOT EXISTS idx_conversation_response ON conversation (response_id);
CREATE INDEX IF NOT EXISTS idx_conversation_key ON conversation (key_id, bytes)
    WHERE key_id IS NOT NULL;

-- What a client added to a conversation since its last response.
CREATE TABLE IF NOT EXISTS conversation_item (
    conversation_id TEXT COLLATE "C" NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
    number          BIGINT NOT NULL,
    item            TEXT NOT NULL,
    PRIMARY KEY (conversation_id, number)
);

-- The executions that a conversation was in, the oldest first.
CREATE TABLE IF NOT EXISTS conversation_execution (
    conversation_id    TEXT COLLATE "C" NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
    number             BIGINT NOT NULL,
    agent_execution_id UUID NOT NULL REFERENCES agent_execution (id) ON DELETE CASCADE,
    PRIMARY KEY (conversation_id, number)
);

CREATE INDEX IF NOT EXISTS idx_conversation_execution ON conversation_execution (agent_execution_id);

-- The responses of an execution in their order.
CREATE INDEX IF NOT EXISTS idx_agent_response_pos ON agent_response (agent_execution_id, first_pos);

-- +goose Down
DROP INDEX idx_agent_response_pos;
DROP TABLE conversation_execution;
DROP TABLE conversation_item;
DROP TABLE conversation;
