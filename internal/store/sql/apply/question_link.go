package apply

import (
	"errors"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	insertLink = statement.Declare(load.LinkRows.InsertStatement())
	// trimLinks deletes all links of an API key to a question except the newest ones.
	trimLinks = statement.Alone("DELETE FROM question_link WHERE (agent_execution_id, question_id, token_sha256) IN" +
		" (SELECT agent_execution_id, question_id, token_sha256 FROM question_link" +
		" WHERE agent_execution_id = ?1 AND question_id = ?2 AND key_id = ?3 ORDER BY created_at DESC, token_sha256 DESC LIMIT 1000 OFFSET ?4)")
	sweepLinks = statement.Alone("DELETE FROM question_link WHERE (agent_execution_id, question_id, token_sha256) IN" +
		" (SELECT agent_execution_id, question_id, token_sha256 FROM question_link WHERE agent_execution_id = ?1 AND " + column.UnindexedNumber("expires_at") + " <= ?2 LIMIT ?3)")
	dropLinks      = statement.Alone("DELETE FROM question_link WHERE agent_execution_id = ? AND question_id = ?")
	dropLinksOfKey = statement.Alone("DELETE FROM question_link WHERE agent_execution_id = ? AND question_id = ? AND key_id = ?")
)

func loadLinks(v statement.View, x *perdure.Execution, n store.Needs, s *store.State, _ *known) (err error) {
	if n.LinksOf != nil {
		if s.Links, err = load.LinkRows.All(v, load.LinksOf, x.ID[:], n.LinksOf[:]); err != nil {
			return err
		}
	}
	if n.Link == nil {
		return nil
	}
	link, err := load.LinkRows.One(v, load.LinkByToken, n.Link[:])
	if err == nil && link != nil && link.ExecutionID == x.ID {
		s.Link = link
	}
	return err
}

func (t *Transaction) applyLinks(execution uuid.UUID, ch *store.Changes) error {
	if err := t.dropLinks(execution, ch.DropLinks); err != nil {
		return err
	}
	if ch.SweepLinks > 0 {
		if err := t.Write(sweepLinks, execution[:], column.Millis(t.now), ch.SweepLinks); err != nil {
			return err
		}
	}
	l := ch.Link
	if l == nil {
		return nil
	}
	if l.ExecutionID != execution {
		return errors.New("a command wrote a link to a question of another execution")
	}
	if err := load.LinkRows.Write(t.View, insertLink, l); err != nil {
		return err
	}
	return t.Write(trimLinks, execution[:], l.QuestionID[:], l.KeyID[:], perdure.MaxLinks)
}

func (t *Transaction) dropLinks(execution uuid.UUID, d *store.LinkDrop) error {
	switch {
	case d == nil:
		return nil
	case d.KeyID == nil:
		return t.Write(dropLinks, execution[:], d.QuestionID[:])
	}
	return t.Write(dropLinksOfKey, execution[:], d.QuestionID[:], d.KeyID[:])
}
