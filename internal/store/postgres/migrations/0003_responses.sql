-- +goose Up

-- Responses by their ids: the input that began each. One whose input was taken
-- up by a response that ran already has joined that one.
CREATE TABLE agent_response (
    agent_execution_id UUID NOT NULL REFERENCES agent_execution (id) ON DELETE CASCADE,
    id                 TEXT NOT NULL,
    signal_id          TEXT, -- NULL: the execution's own input
    first_pos          BIGINT NOT NULL,
    joined             TEXT,
    hidden             SMALLINT NOT NULL DEFAULT 0,
    created_at         BIGINT NOT NULL,
    request            TEXT,
    PRIMARY KEY (agent_execution_id, id)
);

CREATE UNIQUE INDEX idx_agent_response_id ON agent_response (id);

-- +goose Down
DROP TABLE agent_response;
