-- +goose Up

LOCK TABLE agent_execution, agent_entry IN ACCESS EXCLUSIVE MODE; -- as in 0030

-- Where an entry is in the tree: see decision 054. The entries that are there get
-- their places after the migrations, one execution at a time.
ALTER TABLE agent_entry ADD COLUMN IF NOT EXISTS segment BIGINT;
-- Of an entry on the path: how many entries its path has, itself included. Of one
-- beside the path: that of the entry that it hangs on, negative.
ALTER TABLE agent_entry ADD COLUMN IF NOT EXISTS depth BIGINT;

-- It gets its name, idx_agent_entry_place, when every entry has a place. There is none
-- yet, so this reads the table once and writes nothing.
CREATE UNIQUE INDEX IF NOT EXISTS idx_agent_entry_placing ON agent_entry (agent_execution_id, segment, depth)
    WHERE depth > 0;

-- Where a segment begins: after this entry. A segment without a row, or with a base
-- of depth 0, begins with a root.
CREATE TABLE IF NOT EXISTS agent_segment (
    agent_execution_id UUID NOT NULL REFERENCES agent_execution (id) ON DELETE CASCADE,
    segment            BIGINT NOT NULL,
    base_segment       BIGINT NOT NULL,
    base_depth         BIGINT NOT NULL,
    PRIMARY KEY (agent_execution_id, segment)
);

-- Servers of the version before insert entries without a place. One whose parent has
-- none gets its place with it.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION place_entry() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    on_path BOOLEAN := NEW.entry_type <> 'llm_call';
    parent_segment BIGINT := 0;
    parent_depth BIGINT := 0;
BEGIN
    IF NEW.parent_id IS NOT NULL THEN
        SELECT e.segment, e.depth INTO parent_segment, parent_depth FROM agent_entry e
            WHERE e.agent_execution_id = NEW.agent_execution_id AND e.id = NEW.parent_id;
        IF parent_depth IS NULL THEN
            RETURN NEW;
        END IF;
    END IF;
    IF NOT on_path THEN
        NEW.segment := parent_segment;
        NEW.depth := -abs(parent_depth);
        RETURN NEW;
    END IF;
    NEW.segment := parent_segment;
    NEW.depth := abs(parent_depth) + 1;
    IF parent_depth < 0 OR EXISTS (SELECT 1 FROM agent_entry e WHERE e.agent_execution_id = NEW.agent_execution_id
            AND e.segment = NEW.segment AND e.depth = NEW.depth AND e.depth > 0) THEN
        SELECT coalesce(max(s.segment), 0) + 1 INTO NEW.segment FROM agent_segment s WHERE s.agent_execution_id = NEW.agent_execution_id;
        INSERT INTO agent_segment (agent_execution_id, segment, base_segment, base_depth)
            VALUES (NEW.agent_execution_id, NEW.segment, parent_segment, abs(parent_depth));
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd

CREATE OR REPLACE TRIGGER place_entry BEFORE INSERT ON agent_entry
    FOR EACH ROW WHEN (NEW.depth IS NULL) EXECUTE FUNCTION place_entry();

-- +goose Down
DROP TRIGGER place_entry ON agent_entry;
DROP FUNCTION place_entry();
DROP INDEX IF EXISTS idx_agent_entry_place;
DROP INDEX IF EXISTS idx_agent_entry_placing;
DROP TABLE agent_segment;
ALTER TABLE agent_entry DROP COLUMN depth;
ALTER TABLE agent_entry DROP COLUMN segment;
