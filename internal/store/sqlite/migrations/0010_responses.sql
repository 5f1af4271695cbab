-- +goose Up

-- Responses by their ids: the input that began each. One whose input was taken
-- up by a response that ran already has joined that one.
CREATE TABLE agent_response (
    agent_execution_id BLOB NOT NULL REFERENCES agent_execution (id) ON DELETE CASCADE,
    id                 TEXT NOT NULL,
    signal_id          TEXT, -- NULL: the execution's own input
    first_pos          INTEGER NOT NULL,
    joined             TEXT,
    hidden             INTEGER NOT NULL DEFAULT 0,
    created_at         INTEGER NOT NULL,
    request            TEXT,
    PRIMARY KEY (agent_execution_id, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX idx_agent_response_id ON agent_response (id);

INSERT INTO agent_response (agent_execution_id, id, first_pos, created_at)
SELECT id, response_id, 1, created_at FROM agent_execution WHERE response_id IS NOT NULL;

INSERT INTO agent_response (agent_execution_id, id, signal_id, first_pos, created_at)
SELECT s.agent_execution_id, s.response_id, s.id, min(r.pos), s.created_at
FROM agent_signal s JOIN log_record r ON r.agent_execution_id = s.agent_execution_id AND r.type = 'signal.received' AND r.response_id = s.response_id
WHERE s.signal_name = 'userMessage' GROUP BY s.agent_execution_id, s.id;

-- +goose Down
DROP TABLE agent_response;
