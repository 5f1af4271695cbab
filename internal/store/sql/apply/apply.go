package apply

import (
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/load/log"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// apply writes the changes of a command. Each row is written after the rows to which it refers.
func (t *Transaction) apply(org string, id uuid.UUID, l load.ExecutionRow, k *known, ch *store.Changes) error {
	if ch.Definition != nil {
		if err := putDefinition(t.View, ch.Definition); err != nil {
			return err
		}
	}
	if x := ch.Execution; x != nil {
		if l.Row != nil && x.ID != l.Row.ID {
			return errors.New("a command wrote another execution than its own")
		}
		id = x.ID
	}
	var numbers []int64 // numbers that the database has assigned to the new entries
	for _, step := range []func() error{
		func() error { return t.applyExecution(l, ch) },
		func() error { return t.applyHead(id, l, ch) },
		func() error { return t.applyBlobs(id, ch) },
		func() error { return t.applyEntries(id, l, k, ch, &numbers) },
		func() error { return t.applyTasks(id, k, ch) },
		func() error { return t.applyNames(id, ch, numbers) },
		func() error { return t.applySignals(id, ch) },
		func() error { return t.applyQuestions(id, k, ch) },
		func() error { return t.applyLinks(id, ch) },
		func() error { return t.applyGrants(org, id, ch) },
		func() error { return t.applyResponses(id, ch) },
		func() error { return t.applyConversation(org, ch.Conversation) },
		func() error { return t.applyLog(id, l.Head.LastSeq, k, ch, numbers) },
		func() error { return t.applyStored(id, l, ch) },
		func() error { return t.applyOutside(org, ch) },
		func() error { return t.applySessions(org, ch) },
		func() error { return t.applyWebhooks(ch) },
		func() error { return t.applyWorkers(org, ch) },
		func() error { return t.applyBulk(org, ch) },
		func() error { return t.putRetention(org, id, ch) },
		func() error { return t.applyStream(org, ch.Stream) },
		func() error { return t.dropStreams(ch.DropStreams) },
		func() error { return t.applyPrune(id, ch.Prune) },
		func() error { return t.applyFree(ch.Free) },
		func() error { return t.applyTexts(ch.Texts) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (t *Transaction) applyExecution(l load.ExecutionRow, ch *store.Changes) error {
	if ch.Execution == nil {
		return nil
	}
	row, values, err := putExecution(t.View, l, ch.Execution, t.now)
	if err != nil {
		return err
	}
	t.Held(l.Row, row)
	if l.Row == nil {
		t.Began(row.ID)
	}
	if l.Row != nil && l.Row.CompletedAt == nil && row.CompletedAt != nil {
		if err := t.Write(retainEnd, column.Millis(*row.CompletedAt), row.ID[:]); err != nil {
			return err
		}
	}
	row.MaxSeq = l.Head.LastSeq // the column of MaxSeq is in log_head, not in the execution's row
	l.Row, l.Values = row, values
	t.Rows[row.ID] = l
	return nil
}

var (
	putHead  = statement.Insert("log_head", log.WrittenHead+", stored, agent_execution_id")
	moveHead = statement.Update("log_head", statement.Columns(log.WrittenHead).Plus("stored"), statement.Columns("agent_execution_id"))
	setTimer = statement.Insert("agent_timer", "agent_execution_id, due_at",
		statement.Replacing("agent_execution_id", "due_at = excluded.due_at"))
	dropTimer = statement.Remove("agent_timer", statement.Columns("agent_execution_id"))
)

func (t *Transaction) applyHead(id uuid.UUID, before load.ExecutionRow, ch *store.Changes) (err error) {
	if h := ch.Head; h != nil {
		l := t.Rows[id]
		write := putHead
		if l.HasHead {
			write = moveHead
		}
		if err := t.Write(write, append(log.HeadValues(h), counted(before, ch), id[:])...); err != nil {
			return err
		}
		l.Head, l.HasHead = *h, true
		if l.Row != nil {
			l.Row.MaxSeq = h.LastSeq
			t.Rows[id] = l
		}
	}
	if ch.Timer == nil {
		return nil
	}
	if ch.Timer.IsZero() {
		err = t.Write(dropTimer, id[:])
	} else {
		err = t.Write(setTimer, id[:], column.Millis(*ch.Timer))
	}
	return err
}

func (t *Transaction) applyBlobs(id uuid.UUID, ch *store.Changes) error {
	if ch.Blob != nil {
		if err := putBlob(t.View, id, ch.Blob, t.now); err != nil {
			return err
		}
		if err := writeBlob(t.View, id, ch.Blob.ID, ch.BlobChunkAt, ch.BlobChunk); err != nil {
			return err
		}
	}
	for _, blob := range ch.OwnBlobs {
		if err := t.Write(ownBlob, id[:], blob[:]); err != nil {
			return err
		}
	}
	if err := t.applyWithheld(id, ch); err != nil {
		return err
	}
	if !ch.SweepBlobs {
		return nil
	}
	return t.dropLooseBlobs(id, t.now.Add(-store.LooseBlobAge))
}

func (t *Transaction) applyEntries(id uuid.UUID, l load.ExecutionRow, k *known, ch *store.Changes, numbers *[]int64) error {
	places, err := t.placeEntries(id, l, k, ch.Entries)
	if err != nil {
		return err
	}
	barriers, err := barriersOf(t.View, id, k, ch.Entries, places)
	if err != nil {
		return err
	}
	*numbers = make([]int64, len(ch.Entries))
	err = statement.ForEach(t.View, statement.Indexes(len(ch.Entries)), func(v statement.View, i int) (err error) {
		(*numbers)[i], err = putEntry(v, id, &ch.Entries[i], places[i], barriers[i], t.now)
		return err
	})
	if err != nil {
		return err
	}
	if ch.Checkpoint != nil {
		return putCheckpoint(t.View, id, ch.Checkpoint, t.now)
	}
	return nil
}

// applyNames finds stored texts that new entries repeat, and replaces each stored text by a
// reference to the new entry, so that each text is stored once.
func (t *Transaction) applyNames(id uuid.UUID, ch *store.Changes, numbers []int64) error {
	return statement.ForEach(t.View, statement.Indexes(len(numbers)), func(v statement.View, i int) error {
		return standFor(v, id, numbers[i], &ch.Entries[i])
	})
}

func (t *Transaction) applyTasks(id uuid.UUID, k *known, ch *store.Changes) error {
	for _, task := range ch.Tasks {
		if task.ExecutionID != id {
			return errors.New("a command wrote a task of another execution")
		}
		before, asked := k.tasks[task.ID]
		if !asked {
			var err error
			if before, err = t.Task(t.View, id, task.ID); err != nil {
				return err
			}
		}
		row, err := putTask(t.View, before, task, t.now)
		if err != nil {
			return err
		}
		t.Wrote(row)
	}
	return nil
}

func (t *Transaction) applySignals(id uuid.UUID, ch *store.Changes) error {
	for i := range ch.Signals {
		if err := putSignal(t.View, id, &ch.Signals[i], t.now); err != nil {
			return err
		}
	}
	row := t.Rows[id].Row
	for _, signal := range ch.Take {
		if err := t.Write(takeSignal, id[:], row.CheckpointSeq, signal); err != nil {
			return err
		}
	}
	if ch.ConsumeTaken {
		if row.PersistenceMode == perdure.Local {
			if err := t.eraseSignals(id, "taken"); err != nil {
				return err
			}
		}
		if err := t.Write(consumeSignals, id[:]); err != nil {
			return err
		}
	}
	if !ch.EraseSignals {
		return nil
	}
	for _, state := range []perdure.SignalState{perdure.SignalPending, perdure.SignalTaken, perdure.SignalConsumed} {
		if err := t.eraseSignals(id, state); err != nil {
			return err
		}
	}
	return nil
}

var insertRecord = statement.Declare(log.RecordRows.InsertStatement())

// applyLog writes events and chunks, then the blocks to which they belong. The parameter `given` is
// the last seq of the log before this command. Each new event must have a greater seq, so that no
// seq is used twice.
func (t *Transaction) applyLog(id uuid.UUID, given int64, k *known, ch *store.Changes, numbers []int64) error {
	chunks := 0
	for i := range ch.Records {
		r := &ch.Records[i]
		var err error
		if r.Chunk == nil && r.Seq <= given {
			return fmt.Errorf("a command wrote an event with the seq %d after %d", r.Seq, given)
		}
		if r.Chunk != nil {
			chunks++
			err = chunkRows.Write(t.View, addChunk, &chunkRow{execution: id, Record: r})
		} else {
			given = r.Seq
			stored := log.RecordRow{Execution: id, Record: *r}
			stored.Fields, stored.Of = fieldsOf(r, ch.Entries, numbers)
			err = log.RecordRows.Write(t.View, insertRecord, &stored)
		}
		if err != nil {
			return err
		}
	}
	if chunks != len(ch.ChunkKeys) {
		return errors.New("a command wrote chunks without their blocks' keys")
	}
	if len(ch.Blocks) > 0 {
		t.WroteBlocks(id)
	}
	err := statement.ForEach(t.View, statement.Indexes(len(ch.Blocks)), func(v statement.View, i int) error {
		t.WroteBlock(id, &ch.Blocks[i])
		return putBlock(v, id, k.blocks[ch.Blocks[i].Key], &ch.Blocks[i])
	})
	if err != nil {
		return err
	}
	return t.nameCalls(id, ch)
}

// withheldLength returns the length of a chunk whose text only the home worker has. It returns NULL
// for a chunk whose text the server has.
func withheldLength(c *perdure.Chunk) any {
	if c.Length == 0 {
		return nil
	}
	return c.Length
}

// nameCalls stores the id of the tool call in the row of each new block of tool-call arguments. It
// takes the id from the block's first chunk.
func (t *Transaction) nameCalls(id uuid.UUID, ch *store.Changes) error {
	i := 0
	for _, r := range ch.Records {
		if r.Chunk == nil {
			continue
		}
		if r.Chunk.Offset == 0 && r.Chunk.ToolCallID != "" {
			if err := t.Write(nameCall, append([]any{r.Chunk.ToolCallID}, log.BlockKey(id, ch.ChunkKeys[i])...)...); err != nil {
				return err
			}
		}
		i++
	}
	return nil
}

var dropDefinition = statement.Alone("DELETE FROM agent_definition WHERE id = ?1 AND (?2 = '' OR org_id = ?2)")
