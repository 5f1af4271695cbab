-- +goose Up

-- A closed block whose content is a text of an entry names that: the entry by
-- its number, and where in it.
ALTER TABLE log_block ADD COLUMN sha256 BLOB;   -- once closed
ALTER TABLE log_block ADD COLUMN entry INTEGER; -- agent_entry.number; goes no later than that
ALTER TABLE log_block ADD COLUMN path TEXT;

-- Those that an entry can still come to stand for.
CREATE INDEX idx_log_block_content ON log_block (agent_execution_id, sha256)
    WHERE content IS NOT NULL;

-- The texts of entries, for blocks that close later: the first 8 bytes of each
-- SHA-256, and the first entry that has it. What that leads to is compared whole.
CREATE TABLE agent_entry_text (
    agent_execution_id BLOB NOT NULL REFERENCES agent_execution (id) ON DELETE CASCADE,
    hash               INTEGER NOT NULL,
    entry              INTEGER NOT NULL,
    PRIMARY KEY (agent_execution_id, hash)
) STRICT, WITHOUT ROWID;

-- The result of a task, the content of its blob, and what an event says of a
-- tool's result, that an entry says again: the entry's number, and where in its
-- content; see stretch.go.
ALTER TABLE task_execution ADD COLUMN result_of BLOB;
ALTER TABLE blob ADD COLUMN content_of BLOB;
ALTER TABLE log_record ADD COLUMN fields_of BLOB;

-- +goose Down
ALTER TABLE log_record DROP COLUMN fields_of;
ALTER TABLE blob DROP COLUMN content_of;
ALTER TABLE task_execution DROP COLUMN result_of;
DROP TABLE agent_entry_text;
DROP INDEX idx_log_block_content;
ALTER TABLE log_block DROP COLUMN path;
ALTER TABLE log_block DROP COLUMN entry;
ALTER TABLE log_block DROP COLUMN sha256;
