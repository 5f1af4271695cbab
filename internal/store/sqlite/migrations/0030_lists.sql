-- +goose Up

-- Executions that have ended, for lists by status. A row that has not ended is not in
-- it, so that its changes cost no entry. Every index of the table ends with number.
CREATE INDEX idx_agent_execution_by_status ON agent_execution (org_id, status)
    WHERE completed_at IS NOT NULL;

-- The members of an execution's metadata by which it is found, values as text. org_id
-- and number are the execution's. Longer keys and values have no row.
CREATE TABLE agent_metadata (
    agent_execution_id BLOB NOT NULL REFERENCES agent_execution (id) ON DELETE CASCADE,
    key                TEXT NOT NULL,
    value              TEXT NOT NULL,
    org_id             TEXT NOT NULL,
    number             INTEGER NOT NULL,
    PRIMARY KEY (agent_execution_id, key)
) STRICT, WITHOUT ROWID;

INSERT INTO agent_metadata (agent_execution_id, key, value, org_id, number)
    SELECT x.id, m.key, CASE m.type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' WHEN 'null' THEN 'null' ELSE CAST(m.value AS TEXT) END, x.org_id, x.number
    FROM (SELECT id, org_id, number, metadata FROM agent_execution WHERE json_valid(metadata) AND json_type(metadata) = 'object') x
    CROSS JOIN json_each(x.metadata) m
    WHERE octet_length(m.key) <= 256 AND (m.type IN ('true', 'false', 'null') OR octet_length(m.value) <= 256)
    ON CONFLICT (agent_execution_id, key) DO UPDATE SET value = excluded.value;

CREATE INDEX idx_agent_metadata_value ON agent_metadata (org_id, key, value, number);

-- +goose Down
DROP TABLE agent_metadata;
DROP INDEX idx_agent_execution_by_status;
