package storetest

import (
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var nonceTests = map[string]func(*fixture){
	"every transaction has a nonce of its own":        noncePerTransaction,
	"a command that runs again has another nonce":     nonceAfterRollback,
	"nonces stay through close, supersede and naming": noncesOfBlocks,
	"the nonce of the last pruned record stays":       nonceOfPruned,
	"nonces of a log of no execution are not found":   noncesOfNone,
	"records without a nonce have 0":                  noncesOfOld,
}

// nonces returns the stored nonces by position, and the head of the log. It asks for the nonces of
// the positions from 0 to one after the end of the log.
func (f *fixture) nonces(id uuid.UUID) (map[int64]uint32, store.Head) {
	f.Helper()
	head := f.head(id)
	var positions []int64
	for pos := int64(0); pos <= head.LastPos+1; pos++ {
		positions = append(positions, pos)
	}
	nonces, again, err := f.s.Nonces(f.ctx, id, positions...)
	f.must(err)
	f.equal("the head with the nonces", again, head)
	return nonces, head
}

// noncesOf returns the nonces of the records by position, and the nonce 0 for the position 0.
func noncesOf(records []perdure.Record) map[int64]uint32 {
	said := map[int64]uint32{0: 0}
	for _, r := range records {
		said[r.Pos] = r.Nonce
	}
	return said
}

// checkNonces reads the nonces of the log by position, and checks that they equal the nonces in the
// records.
func (m *logModel) checkNonces() {
	nonces, head := m.f.nonces(m.id)
	m.f.equal("the nonces", nonces, noncesOf(m.want))
	m.f.equal("the nonce of the head", head.Nonce, m.want[len(m.want)-1].Nonce)
}

func noncePerTransaction(f *fixture) {
	id := f.start()
	for range 10 {
		f.change(id, func(s *store.State) *store.Changes {
			if s.Nonce == 0 || s.Nonce == s.Head.Nonce {
				f.Errorf("the transaction's nonce is %d, that of the head %d", s.Nonce, s.Head.Nonce)
			}
			l := logOf(s)
			l.event(s, perdure.EventError)
			l.event(s, perdure.EventError)
			return &store.Changes{Head: &l.head, Records: l.records}
		})
	}
	log := f.wholeLog(id)
	nonces, head := f.nonces(id)
	f.equal("the nonces", nonces, noncesOf(log))
	f.equal("the nonce of the head", head.Nonce, log[len(log)-1].Nonce)
	heads, err := f.s.LogHeads(f.ctx, []uuid.UUID{id})
	f.must(err)
	f.equal("the head among others", heads[id], head)
	different := map[uint32]bool{}
	for i, r := range log[1:] {
		different[r.Nonce] = true
		if i%2 == 1 && r.Nonce != log[i].Nonce {
			f.Errorf("two records of one transaction have the nonces %d and %d", log[i].Nonce, r.Nonce)
		}
	}
	f.equal("how many nonces ten transactions had", len(different), 10)
}

// nonceAfterRollback checks that a refused command and the command after it get different nonces.
// The log must contain the nonce of the command that succeeded.
func nonceAfterRollback(f *fixture) {
	id := f.start()
	var seen []uint32
	decide := func(fail bool) error {
		_, err := f.s.Do(f.ctx, store.Command{Org: org, Execution: id, Decide: func(s *store.State) (*store.Changes, error) {
			seen = append(seen, s.Nonce)
			if fail {
				return nil, perdure.Errorf(perdure.Conflict, "no")
			}
			l := logOf(s)
			l.event(s, perdure.EventError)
			return &store.Changes{Head: &l.head, Records: l.records}, nil
		}})
		return err
	}
	f.wantCode(decide(true), perdure.Conflict)
	f.must(decide(false))
	log := f.wholeLog(id)
	f.equal("the nonce that was written", log[len(log)-1].Nonce, seen[len(seen)-1])
	slices.Sort(seen)
	f.equal("the nonces differ", len(slices.Compact(seen)), 2)
}

// noncesOfBlocks checks that the nonces of two blocks do not change when both blocks are closed,
// when an entry repeats the text of the first block, and when the second block is superseded. The
// chunks are written in 200 transactions.
func noncesOfBlocks(f *fixture) {
	id := f.start()
	blocks := map[perdure.BlockKey]*store.Block{}
	write := func(step func(s *store.State, l *blockLog)) {
		f.change(id, func(s *store.State) *store.Changes {
			l := &blockLog{logWriter: logOf(s), blocks: blocks}
			step(s, l)
			return l.changes()
		})
	}
	first, second := perdure.BlockKey{Attempt: 1}, perdure.BlockKey{Attempt: 1, Block: 1}
	for range 200 {
		write(func(s *store.State, l *blockLog) {
			l.chunk(s.Now, first, perdure.EventToken, "ab", "")
			l.chunk(s.Now, second, perdure.EventToken, "cd", "")
		})
	}
	given := noncesOf(f.wholeLog(id))
	if len(given) != 402 || given[2] == 0 || given[2] == given[4] {
		f.Fatalf("the log has the nonces %v", given)
	}
	check := func(when string) {
		f.Helper()
		now, _ := f.nonces(id)
		for pos, nonce := range given {
			if now[pos] != nonce {
				f.Fatalf("%s the record %d has the nonce %d; it was given %d", when, pos, now[pos], nonce)
			}
		}
		events, _, err := f.s.Events(f.ctx, id, 1, 3)
		f.must(err)
		for _, e := range events {
			f.equal("the first nonce of a block "+when, e.Block.FirstNonce, given[e.Block.FirstPos])
		}
	}
	check("with open blocks")
	write(func(s *store.State, l *blockLog) {
		l.close(s, first, perdure.BlockDone)
		l.close(s, second, perdure.BlockDone)
	})
	check("with closed blocks")
	f.appendEntry(id, perdure.Entry{
		ID: uuid.New(), Type: perdure.EntryMessage, Role: perdure.RoleAssistant,
		Content: []byte(`{"parts":[{"type":"text","text":"` + strings.Repeat("ab", 200) + `"}]}`),
	})
	check("with a block that names an entry")
	f.do(store.Command{Execution: id, Needs: func(*perdure.Execution) store.Needs {
		return store.Needs{Blocks: []perdure.BlockKey{second}}
	}, Decide: func(s *store.State) (*store.Changes, error) {
		l := &blockLog{logWriter: logOf(s), blocks: blocks}
		l.close(s, second, perdure.BlockSuperseded)
		return l.changes(), nil
	}})
	check("with a superseded block")
}

func (f *fixture) appendEntry(id uuid.UUID, e perdure.Entry) {
	f.Helper()
	f.change(id, func(s *store.State) *store.Changes {
		e.CreatedAt = s.Now
		s.Execution.Leaf = &e.ID
		return &store.Changes{Execution: s.Execution, Entries: []store.Entry{{Entry: e}}}
	})
}

// nonceOfPruned checks the nonces of a pruned log: the nonces of the last two positions can be
// read, and no others. The test uses two logs: the second to last record is an event in one log and
// a chunk in the other.
func nonceOfPruned(f *fixture) {
	for _, piece := range []bool{false, true} {
		id := f.start()
		key := perdure.BlockKey{Attempt: 1}
		f.change(id, func(s *store.State) *store.Changes {
			l := &blockLog{logWriter: logOf(s), blocks: map[perdure.BlockKey]*store.Block{}}
			l.chunk(s.Now, key, perdure.EventToken, "text", "")
			l.close(s, key, perdure.BlockDone)
			if piece { // puts the closing event before the chunk, which the store accepts
				r := &l.records
				(*r)[0].Pos, (*r)[1].Pos = (*r)[1].Pos, (*r)[0].Pos
				b := l.blocks[key]
				b.FirstPos, b.LastPos = (*r)[0].Pos, (*r)[0].Pos
			}
			return l.changes()
		})
		f.endExecution(id, f.s.Now())
		before, head := f.nonces(id)
		f.prune(id, store.Prune{Log: true})
		check := func(when string) {
			f.Helper()
			after, _ := f.nonces(id)
			want := map[int64]uint32{head.LastPos - 1: before[head.LastPos-1], head.LastPos: head.Nonce}
			if before[head.LastPos-1] == 0 {
				f.Error("the record that goes has no nonce")
			}
			f.equal("the nonces "+when, after, want)
		}
		check("once marked")
		f.prune(id, store.Prune{Log: true})
		check("marked twice")
		f.drop(50)
		check("once deleted")
	}
}

func noncesOfNone(f *fixture) {
	_, _, err := f.s.Nonces(f.ctx, uuid.New(), 1)
	f.wantCode(err, perdure.NotFound)
}

// noncesOfOld checks that records without a nonce, which an older version of the program wrote, are
// read with the nonce 0.
func noncesOfOld(f *fixture) {
	id := f.start()
	blocks := map[perdure.BlockKey]*store.Block{}
	key := perdure.BlockKey{Attempt: 1}
	old := func(s *store.State) *blockLog {
		l := &blockLog{logWriter: logOf(s), blocks: blocks}
		l.nonce = 0
		return l
	}
	f.change(id, func(s *store.State) *store.Changes {
		l := old(s)
		l.chunk(s.Now, key, perdure.EventToken, "old", "")
		return l.changes()
	})
	f.change(id, func(s *store.State) *store.Changes {
		l := &blockLog{logWriter: logOf(s), blocks: blocks}
		l.chunk(s.Now, key, perdure.EventToken, "new", "")
		l.close(s, key, perdure.BlockDone)
		return l.changes()
	})
	nonces, head := f.nonces(id)
	if nonces[2] != 0 || nonces[3] == 0 || nonces[3] != head.Nonce {
		f.Error("a block of an old and a new piece has", nonces, head)
	}
	f.change(id, func(s *store.State) *store.Changes {
		l := old(s)
		l.event(s, perdure.EventError)
		return l.changes()
	})
	if nonces, head = f.nonces(id); nonces[head.LastPos] != 0 || head.Nonce != 0 {
		f.Error("the head of an old record says the nonce", head.Nonce)
	}
}
