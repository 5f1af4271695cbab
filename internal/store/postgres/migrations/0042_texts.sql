-- +goose Up

-- The texts by which executions are found, by blocks of 256 numbers: which executions
-- have a sequence of three bytes in their id, kind, or the beginning of their input.
-- A row holds some of a block's sequences.
CREATE TABLE IF NOT EXISTS agent_text (
    part  BIGINT NOT NULL,
    block BIGINT NOT NULL,
    grams BYTEA NOT NULL,
    PRIMARY KEY (part, block)
);
ALTER TABLE agent_text ALTER COLUMN grams SET STATISTICS 0;

-- How many blocks, from the first on, are indexed. Servers do so in the background.
CREATE TABLE IF NOT EXISTS text_index (
    id     BIGINT PRIMARY KEY,
    blocks BIGINT NOT NULL
);

-- +goose Down
DROP TABLE text_index;
DROP TABLE agent_text;
