-- +goose Up

-- The texts by which executions are found, by blocks of 256 numbers: which executions
-- have a sequence of three bytes in their id, kind, or the beginning of their input.
-- A row holds some of a block's sequences.
CREATE TABLE agent_text (
    part  INTEGER NOT NULL,
    block INTEGER NOT NULL,
    grams BLOB NOT NULL,
    PRIMARY KEY (part, block)
) STRICT, WITHOUT ROWID;

-- How many blocks, from the first on, are indexed. A server does so in the background.
CREATE TABLE text_index (
    id     INTEGER PRIMARY KEY,
    blocks INTEGER NOT NULL
) STRICT;

-- +goose Down
DROP TABLE text_index;
DROP TABLE agent_text;
