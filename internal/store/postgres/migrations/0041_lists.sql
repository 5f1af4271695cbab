-- +goose Up

LOCK TABLE agent_execution IN ACCESS EXCLUSIVE MODE; -- as in 0030

-- Executions that have ended, for lists by status. A row that has not ended is not in
-- it, so that its changes cost no entry.
CREATE INDEX IF NOT EXISTS idx_agent_execution_by_status ON agent_execution (org_id, status, number)
    WHERE completed_at IS NOT NULL;

-- Executions of a definition, the newest first.
CREATE INDEX IF NOT EXISTS idx_agent_execution_of_definition ON agent_execution (agent_definition_id, number)
    WHERE agent_definition_id IS NOT NULL;
DROP INDEX IF EXISTS idx_agent_execution_definition;

-- The members of an execution's metadata by which it is found, values as text. org_id
-- and number are the execution's. Longer keys and values have no row.
CREATE TABLE IF NOT EXISTS agent_metadata (
    agent_execution_id UUID NOT NULL REFERENCES agent_execution (id) ON DELETE CASCADE,
    key                TEXT COLLATE "C" NOT NULL,
    value              TEXT COLLATE "C" NOT NULL,
    org_id             TEXT COLLATE "C" NOT NULL,
    number             BIGINT NOT NULL,
    PRIMARY KEY (agent_execution_id, key)
);

-- What a text cannot hold, the character zero and half of a pair of surrogates, is
-- U+FFFD here.
INSERT INTO agent_metadata (agent_execution_id, key, value, org_id, number)
    SELECT x.id, m.key, coalesce(m.value, 'null'), x.org_id, x.number
    FROM (
        SELECT id, org_id, number, (CASE WHEN strpos(metadata, '\u') = 0 THEN metadata ELSE replace(regexp_replace(regexp_replace(
            replace(replace(metadata, '\\', '\u005c'), '\u0000', '\ufffd'),
            '\\(u[dD][89abAB][0-9a-fA-F]{2})\\(u[dD][c-fC-F][0-9a-fA-F]{2})', chr(1) || '\1' || chr(1) || '\2', 'g'),
            '\\u[dD][89a-fA-F][0-9a-fA-F]{2}', '\\ufffd', 'g'), chr(1), '\') END)::json AS metadata
        FROM agent_execution WHERE metadata IS NOT NULL OFFSET 0
    ) x
    CROSS JOIN LATERAL json_each_text(CASE json_typeof(x.metadata) WHEN 'object' THEN x.metadata ELSE '{}' END) m
    WHERE octet_length(m.key) <= 256 AND octet_length(coalesce(m.value, '')) <= 256
    ON CONFLICT (agent_execution_id, key) DO NOTHING;

CREATE INDEX IF NOT EXISTS idx_agent_metadata_value ON agent_metadata (org_id, key, value, number);

-- +goose Down
DROP TABLE agent_metadata;
CREATE INDEX idx_agent_execution_definition ON agent_execution (agent_definition_id)
    WHERE agent_definition_id IS NOT NULL;
DROP INDEX idx_agent_execution_of_definition;
DROP INDEX idx_agent_execution_by_status;
