-- +goose Up

-- An org is a row, so that one can be created, listed and disabled. The orgs that
-- rows belong to already are taken over.
CREATE TABLE org (
    id          TEXT COLLATE "C" PRIMARY KEY,
    created_at  BIGINT NOT NULL,
    disabled_at BIGINT
);

INSERT INTO org (id, created_at)
SELECT id, (extract(epoch FROM now()) * 1000)::BIGINT FROM (
    SELECT 'default' AS id
    UNION SELECT org_id FROM api_key
    UNION SELECT org_id FROM agent_definition
    UNION SELECT org_id FROM agent_execution
    UNION SELECT org_id FROM kind
) AS known;

-- +goose Down
DROP TABLE org;
