-- +goose Up

-- An org is a row, so that one can be created, listed and disabled. The orgs that
-- rows belong to already are taken over.
CREATE TABLE org (
    id          TEXT PRIMARY KEY,
    created_at  INTEGER NOT NULL,
    disabled_at INTEGER
) STRICT, WITHOUT ROWID;

INSERT INTO org (id, created_at)
SELECT id, CAST(unixepoch('subsec') * 1000 AS INTEGER) FROM (
    SELECT 'default' AS id
    UNION SELECT org_id FROM api_key
    UNION SELECT org_id FROM agent_definition
    UNION SELECT org_id FROM agent_execution
    UNION SELECT org_id FROM kind
);

-- +goose Down
DROP TABLE org;
