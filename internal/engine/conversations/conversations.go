// Package conversations implements the commands on conversations and responses. Clients of the
// Responses API name conversations and responses by ids of that API (conv_..., resp_...), not by ids
// of executions.
package conversations

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// MaxPendingItems is the maximum number of items that a client may add to a conversation before the
// conversation's next response.
const MaxPendingItems = rules.MaxPendingItems

// Place is the state in which a client's request has read a conversation. A command with a Place
// fails with conflict if the conversation has changed since that read.
type Place = rules.ConversationPlace

// Turn is part of a request (a start or a signal) that begins the next response of a conversation.
// A Turn names the conversation.
type Turn = rules.ConversationTurn

// ResponseOf returns the id of the response that t begins. If t is nil, the id is new.
func ResponseOf(t *Turn) string {
	if t == nil {
		return NewResponseID()
	}
	return t.Response
}

// Conversations implements the commands on conversations and responses. [New] creates one.
type Conversations struct {
	store store.Store
	refs  store.ClaimReader
	one   func(context.Context, store.Command) (any, error)
	rules func() rules.Config
}

// Config configures a [Conversations]. All fields are required.
type Config struct {
	Store store.Store
	// Refs reads the same rows as Store. In place of contents that are stored in blobs, it returns references.
	Refs store.ClaimReader
	// One runs a command on the store, and returns the command's result (rules.Decision.Value).
	One func(context.Context, store.Command) (any, error)
	// Rules returns the settings that functions of package rules use.
	Rules func() rules.Config
}

// New creates a Conversations.
func New(c Config) *Conversations {
	return &Conversations{store: c.Store, refs: c.Refs, one: c.One, rules: c.Rules}
}

// KeyedExecution returns the execution that an earlier request with the idempotency key started,
// nil if there is none. Error: idempotency_key_reused.
func (c *Conversations) KeyedExecution(ctx context.Context, org, key string, hash perdure.Hash) (*uuid.UUID, error) {
	found, err := c.one(ctx, store.Command{
		Name: "look up idempotency key", Lane: store.LaneCommits, Org: org,
		Needs:  func(*perdure.Execution) store.Needs { return store.Needs{Idempotency: key} },
		Decide: func(s *store.State) (*store.Changes, error) { return rules.KeyedExecution(s, key, hash) },
	})
	if err != nil {
		return nil, err
	}
	return found.(*uuid.UUID), nil
}

// NewConversation is a request to create a conversation.
type NewConversation struct {
	ID, Response string
	Metadata     json.RawMessage
	Items        []json.RawMessage
}

// Create stores a new conversation. Errors: rate_limited, payload_too_large,
// invalid_argument (too many items).
func (c *Conversations) Create(ctx context.Context, org string, n NewConversation) (*store.Conversation, error) {
	row := store.Conversation{
		ID: n.ID, Org: org, KeyID: store.KeyOf(ctx), Response: n.Response, Metadata: n.Metadata,
		Items: len(n.Items), Bytes: int64(len(n.Metadata)) + bytesOf(n.Items),
	}
	if err := c.rules().CheckPending(&row); err != nil {
		return nil, err
	}
	return c.conversation(ctx, store.Command{
		Name: "create conversation", Lane: store.LaneCommits, Org: org, Bytes: int(row.Bytes),
		Needs:  func(*perdure.Execution) store.Needs { return store.Needs{Conversation: row.ID, UseOf: row.KeyID} },
		Decide: func(s *store.State) (*store.Changes, error) { return rules.CreateConversation(s, row, n.Items) },
	})
}

// SetMetadata replaces the metadata of a conversation. Errors: not_found, rate_limited.
func (c *Conversations) SetMetadata(ctx context.Context, org, id string, metadata json.RawMessage) (*store.Conversation, error) {
	row, err := c.store.Conversation(ctx, org, id)
	if err != nil {
		return nil, err
	}
	return c.conversation(ctx, store.Command{
		Name: "set conversation metadata", Lane: store.LaneCommits, Org: org,
		Needs:  func(*perdure.Execution) store.Needs { return store.Needs{Conversation: id, UseOf: row.KeyID} },
		Decide: func(s *store.State) (*store.Changes, error) { return rules.SetConversationMetadata(s, id, metadata) },
	})
}

// Add appends items of a client to a conversation. The conversation's next response uses them. The
// parameter `at` is the conversation as the client has read it. Errors: not_found, conflict (the
// conversation has changed since it was read), rate_limited, payload_too_large, invalid_argument
// (too many items).
func (c *Conversations) Add(ctx context.Context, org string, at Place, items []json.RawMessage) error {
	row, err := c.store.Conversation(ctx, org, at.ID)
	if err != nil {
		return err
	}
	mark, more := uuid.NewString(), bytesOf(items)
	_, err = c.conversation(ctx, store.Command{
		Name: "add to conversation", Lane: store.LaneCommits, Org: org, Bytes: int(more),
		Needs: func(*perdure.Execution) store.Needs { return store.Needs{Conversation: at.ID, UseOf: row.KeyID} },
		Decide: func(s *store.State) (*store.Changes, error) {
			return rules.AddToConversation(s, c.rules(), at, items, more, mark)
		},
	})
	return err
}

// Delete deletes a conversation of the OpenAI API, with the items that clients have added and that no
// execution has used yet. The executions of the conversation are not deleted. Error: not_found.
func (c *Conversations) Delete(ctx context.Context, org, id string) error {
	_, err := c.conversation(ctx, store.Command{
		Name: "delete conversation", Lane: store.LaneCommits, Org: org, Frees: true,
		Needs:  func(*perdure.Execution) store.Needs { return store.Needs{Conversation: id} },
		Decide: func(s *store.State) (*store.Changes, error) { return rules.DeleteConversation(s, id) },
	})
	return err
}

func (c *Conversations) conversation(ctx context.Context, command store.Command) (*store.Conversation, error) {
	stored, err := c.one(ctx, command)
	if err != nil {
		return nil, err
	}
	return stored.(*store.Conversation), nil
}

func bytesOf(items []json.RawMessage) (n int64) {
	for _, item := range items {
		n += int64(len(item))
	}
	return n
}
