package rules

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// MaxPendingItems and maxPendingBytes limit the pending items of a conversation: those that clients
// have added since its last response began.
const (
	MaxPendingItems = 1_000
	maxPendingBytes = 8 << 20
)

// ConversationPlace is the state of a conversation at the time when a caller has read it. A change
// that is based on a ConversationPlace fails with conflict if another response has begun, or items
// were added, since that time.
type ConversationPlace struct {
	ID string
	// Response is the id that the conversation's next response will have. Items is the number of
	// pending items.
	Response string
	Items    int
}

// ConversationTurn is set in a start or a signal that begins the next response of a conversation.
// The conversation's pending items are deleted at that time, so the input of the start or signal
// must contain them.
type ConversationTurn struct {
	ConversationPlace
}

func (t *ConversationTurn) needs(n *store.Needs) {
	if t != nil {
		n.Conversation = t.ID
	}
}

// begin records that the next response of the conversation has begun. If `execution` is not nil,
// the conversation continues in this new execution. `next` is the id of the response after the one
// that begins. A nil ConversationTurn records nothing. Errors: not_found, conflict.
func (t *ConversationTurn) begin(d *draft, execution *uuid.UUID, next string) error {
	if t == nil {
		return nil
	}
	row, err := t.standing(d.s)
	if err != nil {
		return err
	}
	row.Response, row.Items, row.Bytes = next, 0, int64(len(row.Metadata))
	if execution != nil {
		row.Executions++
	}
	d.c.Conversation = &store.ConversationChange{Row: *row, Take: true, Execution: execution}
	return nil
}

// standing returns the stored conversation if it has not changed since the caller read it. Errors:
// not_found, conflict.
func (p ConversationPlace) standing(s *store.State) (*store.Conversation, error) {
	row := s.Conversation
	if row == nil {
		return nil, noConversation(p.ID)
	}
	if row.Response != p.Response || row.Items != p.Items {
		return nil, perdure.Errorf(perdure.Conflict, "conversation %s has changed meanwhile", p.ID)
	}
	return row, nil
}

func noConversation(id string) error {
	return perdure.Errorf(perdure.NotFound, "there is no conversation %q", id)
}

// CheckPending returns an error if there are more pending items than the input of a response may
// contain. Errors: invalid_argument, payload_too_large.
func (c Config) CheckPending(row *store.Conversation) error {
	if row.Items > MaxPendingItems {
		return perdure.FieldErrorf("items", "are %d with those that no response has taken; the limit is %d", row.Items, MaxPendingItems)
	}
	most := min(maxPendingBytes, c.PayloadLimit/2)
	if held := row.Bytes - int64(len(row.Metadata)); held > most {
		return perdure.Errorf(perdure.PayloadTooLarge, "the items that no response has taken have %d bytes; the limit is %d", held, most)
	}
	return nil
}

// KeyedExecution looks up the execution that an earlier request with the idempotency key started.
// The command's result is a *uuid.UUID, nil if there is none. Error:
// idempotency_key_reused.
func KeyedExecution(s *store.State, key string, hash perdure.Hash) (*store.Changes, error) {
	known := s.Idempotency
	switch {
	case known == nil:
		return Answer((*uuid.UUID)(nil)), nil
	case known.RequestHash != hash:
		return nil, KeyReused(key)
	}
	return Answer(&known.Execution), nil
}

// CreateConversation stores a new conversation with its first items. The command's result
// is the conversation's row. Error: rate_limited.
func CreateConversation(s *store.State, row store.Conversation, items []json.RawMessage) (*store.Changes, error) {
	if s.Conversation != nil {
		return Answer(s.Conversation), nil // the store runs a command again if the outcome of its transaction is unknown
	}
	if err := roomToStore(s, row.Bytes); err != nil {
		return nil, err
	}
	row.CreatedAt = s.Now
	ch := Answer(&row)
	ch.Conversation = &store.ConversationChange{Row: row, Add: items}
	return ch, nil
}

// SetConversationMetadata replaces the metadata of a conversation. The command's result is
// the conversation's row. Errors: not_found, rate_limited.
func SetConversationMetadata(s *store.State, id string, metadata json.RawMessage) (*store.Changes, error) {
	if s.Conversation == nil {
		return nil, noConversation(id)
	}
	row := *s.Conversation
	more := int64(len(metadata) - len(row.Metadata))
	if err := roomToStore(s, max(0, more)); err != nil {
		return nil, err
	}
	row.Metadata, row.Bytes = metadata, row.Bytes+more
	ch := Answer(&row)
	ch.Conversation = &store.ConversationChange{Row: row}
	return ch, nil
}

// AddToConversation appends pending items to a conversation that the caller has read before (`at`).
// `more` is the total size of the items in bytes. `mark` identifies the request, so that a repeated
// request changes nothing. The command's result is the conversation's row. Errors:
// not_found, conflict, rate_limited, payload_too_large, invalid_argument.
func AddToConversation(s *store.State, cfg Config, at ConversationPlace, items []json.RawMessage, more int64, mark string) (*store.Changes, error) {
	if s.Conversation != nil && s.Conversation.Mark == mark {
		return Answer(s.Conversation), nil
	}
	standing, err := at.standing(s)
	if err != nil {
		return nil, err
	}
	row := *standing
	row.Items, row.Bytes, row.Mark = row.Items+len(items), row.Bytes+more, mark
	if err := cfg.CheckPending(&row); err != nil {
		return nil, err
	}
	if err := roomToStore(s, more); err != nil {
		return nil, err
	}
	ch := Answer(&row)
	ch.Conversation = &store.ConversationChange{Row: row, Add: items}
	return ch, nil
}

// DeleteConversation deletes a conversation with its pending items. The command's result is
// the conversation's row before the deletion. Error: not_found.
func DeleteConversation(s *store.State, id string) (*store.Changes, error) {
	if s.Conversation == nil {
		return nil, noConversation(id)
	}
	ch := Answer(s.Conversation)
	ch.Conversation = &store.ConversationChange{Row: *s.Conversation, Delete: true}
	return ch, nil
}
