package relational

import (
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// apply writes the changes of a command. Each row is written after the rows that it refers to.
func (t *Transaction) apply(org string, id uuid.UUID, l loadedExecution, k *known, ch *store.Changes) error {
	if ch.Definition != nil {
		if err := putDefinition(t.view, ch.Definition); err != nil {
			return err
		}
	}
	if x := ch.Execution; x != nil {
		if l.row != nil && x.ID != l.row.ID {
			return errors.New("a command wrote another execution than its own")
		}
		id = x.ID
	}
	var numbers []int64 // stored numbers of the new entries
	for _, step := range []func() error{
		func() error { return t.applyExecution(l, ch) },
		func() error { return t.applyHead(id, l, ch) },
		func() error { return t.applyBlobs(id, ch) },
		func() error { return t.applyEntries(id, l, k, ch, &numbers) },
		func() error { return t.applyTasks(id, k, ch) },
		func() error { return t.applyNames(id, ch, numbers) },
		func() error { return t.applySignals(id, ch) },
		func() error { return t.applyResponses(id, ch) },
		func() error { return t.applyConversation(org, ch.Conversation) },
		func() error { return t.applyLog(id, l.head.LastSeq, k, ch, numbers) },
		func() error { return t.applyStored(id, l, ch) },
		func() error { return t.applyOutside(org, ch) },
		func() error { return t.applySessions(org, ch) },
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

func (t *Transaction) applyExecution(l loadedExecution, ch *store.Changes) error {
	if ch.Execution == nil {
		return nil
	}
	row, values, err := putExecution(t.view, l, ch.Execution, t.now)
	if err != nil {
		return err
	}
	t.held(l.row, row)
	if l.row == nil {
		t.began(row.ID)
	}
	if l.row != nil && l.row.CompletedAt == nil && row.CompletedAt != nil {
		if err := t.write(retainEnd, millis(*row.CompletedAt), row.ID[:]); err != nil {
			return err
		}
	}
	row.MaxSeq = l.head.LastSeq // MaxSeq is not in the row itself
	l.row, l.values = row, values
	t.rows[row.ID] = l
	return nil
}

var (
	putHead  = insert("log_head", "agent_execution_id, last_seq, last_pos, epoch, nonce, nonce_pos, stored")
	moveHead = update("log_head", columns("last_seq, last_pos, epoch, nonce, nonce_pos").plus("stored"), columns("agent_execution_id"))
	setTimer = insert("agent_timer", "agent_execution_id, due_at",
		replacing("agent_execution_id", "due_at = excluded.due_at"))
	dropTimer = remove("agent_timer", columns("agent_execution_id"))
)

func (t *Transaction) applyHead(id uuid.UUID, before loadedExecution, ch *store.Changes) (err error) {
	if h := ch.Head; h != nil {
		l := t.rows[id]
		stored := counted(before, ch)
		if l.hasHead {
			err = t.write(moveHead, h.LastSeq, h.LastPos, int64(h.Epoch), storedNonce(h.Nonce), noncePos(h), stored, id[:])
		} else {
			err = t.write(putHead, id[:], h.LastSeq, h.LastPos, int64(h.Epoch), storedNonce(h.Nonce), noncePos(h), stored)
		}
		if err != nil {
			return err
		}
		l.head, l.hasHead = *h, true
		if l.row != nil {
			l.row.MaxSeq = h.LastSeq
			t.rows[id] = l
		}
	}
	if ch.Timer == nil {
		return nil
	}
	if ch.Timer.IsZero() {
		err = t.write(dropTimer, id[:])
	} else {
		err = t.write(setTimer, id[:], millis(*ch.Timer))
	}
	return err
}

func (t *Transaction) applyBlobs(id uuid.UUID, ch *store.Changes) error {
	if ch.Blob != nil {
		if err := putBlob(t.view, id, ch.Blob, t.now); err != nil {
			return err
		}
		if err := writeBlob(t.view, id, ch.Blob.ID, ch.BlobChunkAt, ch.BlobChunk); err != nil {
			return err
		}
	}
	for _, blob := range ch.OwnBlobs {
		if err := t.write(ownBlob, id[:], blob[:]); err != nil {
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

func (t *Transaction) applyEntries(id uuid.UUID, l loadedExecution, k *known, ch *store.Changes, numbers *[]int64) error {
	places, err := t.placeEntries(id, l, k, ch.Entries)
	if err != nil {
		return err
	}
	*numbers = make([]int64, len(ch.Entries))
	err = forEach(t.view, indexes(len(ch.Entries)), func(v view, i int) (err error) {
		(*numbers)[i], err = putEntry(v, id, &ch.Entries[i], places[i], t.now)
		return err
	})
	if err != nil {
		return err
	}
	if ch.Checkpoint != nil {
		return putCheckpoint(t.view, id, ch.Checkpoint, t.now)
	}
	return nil
}

// applyNames replaces stored texts that the new entries repeat by references to these entries, so
// that each text is stored once.
func (t *Transaction) applyNames(id uuid.UUID, ch *store.Changes, numbers []int64) error {
	return forEach(t.view, indexes(len(numbers)), func(v view, i int) error {
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
			if before, err = t.task(t.view, id, task.ID); err != nil {
				return err
			}
		}
		row, err := putTask(t.view, before, task, t.now)
		if err != nil {
			return err
		}
		t.wrote(row)
	}
	return nil
}

func (t *Transaction) applySignals(id uuid.UUID, ch *store.Changes) error {
	for i := range ch.Signals {
		if err := putSignal(t.view, id, &ch.Signals[i], t.now); err != nil {
			return err
		}
	}
	row := t.rows[id].row
	for _, signal := range ch.Take {
		if err := t.write(takeSignal, id[:], row.CheckpointSeq, signal); err != nil {
			return err
		}
	}
	if ch.ConsumeTaken {
		if row.PersistenceMode == perdure.Local {
			if err := t.eraseSignals(id, "taken"); err != nil {
				return err
			}
		}
		if err := t.write(consumeSignals, id[:]); err != nil {
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

var insertRecord = insert("log_record", "agent_execution_id, pos, seq, type, created_at, response_id, turn_id, message_id, tool_call_id, task_id, attempt, fields, fields_blob, fields_of, nonce")

// applyLog writes events and chunks, then the blocks, and compacts the blocks that have closed. The
// seqs of events must be greater than given, the last assigned seq, so that no seq is used twice.
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
			err = t.write(addChunk, id[:], r.Seq, r.Pos, r.Chunk.Offset, millis(r.CreatedAt), []byte(r.Chunk.Text), withheldLength(r.Chunk), storedNonce(r.Nonce))
		} else {
			given = r.Seq
			fields, of := fieldsOf(r, ch.Entries, numbers)
			err = t.write(insertRecord, id[:], r.Pos, r.Seq, string(r.Type), millis(r.CreatedAt), optText(r.Place.ResponseID),
				optText(r.Place.TurnID), optText(r.Place.MessageID), optText(r.Place.ToolCallID), optID(r.TaskID), int64(r.Attempt), rawText(fields), refID(r.Blob), rawBytes(of), storedNonce(r.Nonce))
		}
		if err != nil {
			return err
		}
	}
	if chunks != len(ch.ChunkKeys) {
		return errors.New("a command wrote chunks without their blocks' keys")
	}
	if len(ch.Blocks) > 0 {
		t.wroteBlocks(id)
	}
	err := forEach(t.view, indexes(len(ch.Blocks)), func(v view, i int) error {
		t.wroteBlock(id, &ch.Blocks[i])
		return putBlock(v, id, k.blocks[ch.Blocks[i].Key], &ch.Blocks[i])
	})
	if err != nil {
		return err
	}
	return t.nameCalls(id, ch)
}

// withheldLength returns the chunk's length; NULL for a chunk whose text is complete.
func withheldLength(c *perdure.Chunk) any {
	if c.Length == 0 {
		return nil
	}
	return c.Length
}

// nameCalls stores the tool call id in the row of a block of tool-call arguments. The block's first
// chunk names the call.
func (t *Transaction) nameCalls(id uuid.UUID, ch *store.Changes) error {
	i := 0
	for _, r := range ch.Records {
		if r.Chunk == nil {
			continue
		}
		if r.Chunk.Offset == 0 && r.Chunk.ToolCallID != "" {
			if err := t.write(nameCall, append([]any{r.Chunk.ToolCallID}, blockKey(id, ch.ChunkKeys[i])...)...); err != nil {
				return err
			}
		}
		i++
	}
	return nil
}

var dropDefinition = alone("DELETE FROM agent_definition WHERE id = ?1 AND (?2 = '' OR org_id = ?2)")

func (t *Transaction) applyOutside(org string, ch *store.Changes) error {
	if ch.DeleteDefinition != nil {
		if err := t.write(dropDefinition, ch.DeleteDefinition[:], org); err != nil {
			return err
		}
		t.forgetAll() // references became null
	}
	if ch.Idempotency != nil {
		if err := putIdempotency(t.view, org, ch.Idempotency, t.now); err != nil {
			return err
		}
	}
	if ch.Key != nil {
		if err := putKey(t.view, ch.Key); err != nil {
			return err
		}
	}
	if ch.Org != nil {
		if err := putOrg(t.view, ch.Org); err != nil {
			return err
		}
	}
	if ch.Secret != nil {
		if err := putSecret(t.view, ch.Secret); err != nil {
			return err
		}
	}
	if ch.Audit != nil {
		if err := putAudit(t.view, ch.Audit); err != nil {
			return err
		}
	}
	for i := range ch.Kinds {
		if err := putKind(t.view, &ch.Kinds[i]); err != nil {
			return err
		}
	}
	return nil
}
