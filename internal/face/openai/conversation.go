package openai

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/conversations"
	"github.com/perdure/perdure/internal/store"
)

const (
	conversationsPath  = "/v1/conversations"
	conversationPrefix = "conv_"
)

// Conversation is the conversation object of OpenAI's API.
type Conversation struct {
	ID        string          `json:"id"`
	Object    string          `json:"object"`
	CreatedAt int64           `json:"created_at"`
	Metadata  json.RawMessage `json:"metadata"`
}

func (a *API) handleConversations() {
	a.mux.HandleFunc("POST "+conversationsPath, a.createConversation)
	a.mux.HandleFunc("GET "+conversationsPath+"/{id}", a.getConversation)
	a.mux.HandleFunc("POST "+conversationsPath+"/{id}", a.changeConversation)
	a.mux.HandleFunc("DELETE "+conversationsPath+"/{id}", a.deleteConversation)
	a.mux.HandleFunc("GET "+conversationsPath+"/{id}/items", a.listItems)
	a.mux.HandleFunc("POST "+conversationsPath+"/{id}/items", a.addItems)
	a.mux.HandleFunc("GET "+conversationsPath+"/{id}/items/{item}", a.getItem)
	a.mux.HandleFunc("DELETE "+conversationsPath+"/{id}/items/{item}", a.keepItem)
}

func noConversation(id string) *Error { return notFound("Conversation with id '%s' not found.", id) }

// conversation reads a conversation. If the conversation does not exist, the error is an *Error
// with status 404.
func (a *API) conversation(ctx context.Context, org, id string) (*store.Conversation, error) {
	if perdure.CheckText("id", id) != nil {
		return nil, noConversation(id) // an id that cannot be stored does not exist
	}
	c, err := a.stored().Conversation(ctx, org, id)
	if perdure.IsCode(err, perdure.NotFound) {
		return nil, noConversation(id)
	}
	return c, err
}

func (a *API) answerConversation(w http.ResponseWriter, r *http.Request, c *store.Conversation, err error) {
	if perdure.IsCode(err, perdure.NotFound) {
		err = noConversation(r.PathValue("id"))
	}
	if err != nil {
		a.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, Conversation{ID: c.ID, Object: "conversation", CreatedAt: c.CreatedAt.Unix(), Metadata: c.Metadata})
}

// createConversation creates a conversation with its first items.
func (a *API) createConversation(w http.ResponseWriter, r *http.Request) {
	ctx, org := r.Context(), orgOf(r)
	body, err := readConversation(w, r, "items", "metadata")
	var added []pendingItem
	if err == nil {
		added, err = a.pendingItems(ctx, org, body.items, nil, nil)
	}
	var encoded []json.RawMessage
	if err == nil {
		encoded, err = encodeItems(added)
	}
	var c *store.Conversation
	if err == nil {
		response := conversations.NewResponseID()
		c, err = a.Engine.Conversations.Create(ctx, org, conversations.NewConversation{
			ID: conversationPrefix + strings.TrimPrefix(conversations.NewResponseID(), responsePrefix), Response: response, Metadata: body.metadata, Items: encoded,
		})
	}
	a.answerConversation(w, r, c, err)
}

func (a *API) getConversation(w http.ResponseWriter, r *http.Request) {
	c, err := a.conversation(r.Context(), orgOf(r), r.PathValue("id"))
	a.answerConversation(w, r, c, err)
}

// changeConversation replaces the metadata of a conversation.
func (a *API) changeConversation(w http.ResponseWriter, r *http.Request) {
	body, err := readConversation(w, r, "metadata")
	if err == nil && !body.hasMetadata {
		err = missing("metadata")
	}
	c, id := (*store.Conversation)(nil), r.PathValue("id")
	if err == nil {
		_, err = a.conversation(r.Context(), orgOf(r), id)
	}
	if err == nil {
		c, err = a.Engine.Conversations.SetMetadata(r.Context(), orgOf(r), id, body.metadata)
	}
	a.answerConversation(w, r, c, err)
}

// deleteConversation deletes a conversation. The responses that were created in it remain.
func (a *API) deleteConversation(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	_, err := a.conversation(r.Context(), orgOf(r), id)
	if err == nil {
		err = a.Engine.Conversations.Delete(r.Context(), orgOf(r), id)
	}
	if perdure.IsCode(err, perdure.NotFound) {
		err = noConversation(id)
	}
	if err != nil {
		a.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"id": id, "object": "conversation.deleted", "deleted": true})
}

// conversationBody is the body of a request that creates or changes a conversation, or adds items.
type conversationBody struct {
	items       []readItem
	metadata    json.RawMessage
	hasMetadata bool
}

// addedAtOnce is the maximum number of items that one request may add, as in OpenAI's API.
const addedAtOnce = 20

// conversationRules are the limits of a request body that contains items.
var conversationRules = perdure.DocumentRules{Values: 1_000_000, Arrays: map[string]int{
	"items": addedAtOnce, "items[].content": perdure.MaxParts, "items[].output": perdure.MaxParts, "items[].summary": perdure.MaxParts,
}}

// readConversation parses a request body. The parameter `names` lists the members that the body may
// have. An empty body has no members.
func readConversation(w http.ResponseWriter, r *http.Request, names ...string) (conversationBody, error) {
	b := conversationBody{metadata: json.RawMessage("{}")}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if err != nil || len(raw) == 0 {
		return b, bodyError(err)
	}
	if err := checkBody(raw, conversationRules); err != nil {
		return b, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return b, invalid("", "invalid_json", "We could not parse the JSON body of your request: it has to be a JSON object.")
	}
	for name, value := range members {
		switch {
		case !slices.Contains(names, name):
			return b, invalid(name, "unknown_parameter", "Unknown parameter: '%s'.", name)
		case name == "metadata":
			b.hasMetadata = true
			if b.metadata, err = metadataOf(value); err != nil {
				return b, err
			}
		case given(value):
			if b.items, err = readItems(value, "items", "an array of items"); err != nil {
				return b, err
			}
		}
	}
	return b, nil
}

// metadataOf checks the member metadata, and returns it in the form in which it is stored.
func metadataOf(raw json.RawMessage) (json.RawMessage, error) {
	r := request{Metadata: map[string]string{}}
	if given(raw) {
		if err := parseMetadata(&r, raw); err != nil {
			return nil, err
		}
	}
	return json.Marshal(r.Metadata)
}

// conversationError converts an error of the store to the error for the client.
func conversationError(id string, err error) error {
	var coded *perdure.Error
	switch {
	case !errors.As(err, &coded):
		return err
	case coded.Code == perdure.NotFound:
		return noConversation(id)
	case coded.Code == perdure.InvalidArgument && len(coded.Fields) > 0:
		return invalid("items", "array_above_max_length", "Invalid 'items': they %s.", coded.Fields[0].Message)
	}
	return err
}
