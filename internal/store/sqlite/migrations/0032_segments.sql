-- +goose Up

-- Where an entry is in the tree: see decision 054. The entries that are there get
-- their places after the migrations, a few at a time, and then the index is made.
ALTER TABLE agent_entry ADD COLUMN segment INTEGER;
-- Of an entry on the path: how many entries its path has, itself included. Of one
-- beside the path: that of the entry that it hangs on, negative.
ALTER TABLE agent_entry ADD COLUMN depth INTEGER;

-- Where a segment begins: after this entry. A segment without a row, or with a base
-- of depth 0, begins with a root.
CREATE TABLE agent_segment (
    agent_execution_id BLOB NOT NULL REFERENCES agent_execution (id) ON DELETE CASCADE,
    segment            INTEGER NOT NULL,
    base_segment       INTEGER NOT NULL,
    base_depth         INTEGER NOT NULL,
    PRIMARY KEY (agent_execution_id, segment)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP INDEX IF EXISTS idx_agent_entry_place;
DROP TABLE agent_segment;
ALTER TABLE agent_entry DROP COLUMN depth;
ALTER TABLE agent_entry DROP COLUMN segment;
