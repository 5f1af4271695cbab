package llmtest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// Path is a random conversation for tests of providers. Its answers come from several models.
// Providers refuse some of its ids, names, arguments and texts. It may have no user message.
//
// The conversation follows the transcript rules, except that it may contain parts from oldParts,
// which earlier versions stored without a check.
type Path struct {
	Messages []perdure.Message

	t      *rapid.T
	makers []llm.Model // the model that made each signature, by the number of the signature
	ids    int
}

// signature returns a new base64 signature and records the model that made it.
func (c *Path) signature(maker llm.Model) string {
	c.makers = append(c.makers, maker)
	return sealed(len(c.makers) - 1)
}

// sealed returns the base64 text of the signature with number n. The text has no base64 padding, so
// CheckSignatures finds it even inside a longer base64 text.
func sealed(n int) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "sealed-%05d", n))
}

// CheckSignatures fails the test if a request to a model contains the signature of another model.
func (c *Path) CheckSignatures(to llm.Model, request []byte) {
	for n, maker := range c.makers {
		if maker != to && bytes.Contains(request, []byte(sealed(n))) {
			c.t.Fatalf("a signature of %s went to %s:\n%s", maker, to, request)
		}
	}
}

// DrawPath returns a random conversation.
func DrawPath(t *rapid.T) *Path {
	c := &Path{t: t}
	c.Messages = c.draw()
	return c
}

func (c *Path) draw() []perdure.Message {
	var messages []perdure.Message
	if rapid.Bool().Draw(c.t, "compacted") {
		messages = append(messages, message(perdure.RoleUser, []perdure.Part{perdure.Compaction("goal: \"x\"")}))
	}
	for range rapid.IntRange(0, 6).Draw(c.t, "messages") {
		switch rapid.IntRange(0, 3).Draw(c.t, "role") {
		case 0:
			messages = append(messages, message(perdure.RoleSystem, c.texts()))
		case 1:
			messages = append(messages, message(perdure.RoleUser, c.shown()))
		default:
			messages = append(messages, c.round()...)
		}
	}
	if rapid.Bool().Draw(c.t, "ends with the user") {
		messages = append(messages, message(perdure.RoleUser, c.shown()))
	}
	c.checkStorable(messages)
	return c.aged(messages)
}

// aged inserts a part from oldParts into about half of the messages.
func (c *Path) aged(messages []perdure.Message) []perdure.Message {
	for i, m := range messages {
		if !rapid.Bool().Draw(c.t, "old") {
			continue
		}
		old := rapid.SampledFrom(oldParts).Draw(c.t, "old part")
		if m.Role == perdure.RoleToolResult {
			messages[i].Parts[0].Parts = append(messages[i].Parts[0].Parts, old)
			continue
		}
		at := rapid.IntRange(0, len(m.Parts)).Draw(c.t, "place")
		messages[i].Parts = slices.Insert(m.Parts, at, old)
	}
	return messages
}

// oldParts are parts that earlier versions stored and that no provider accepts.
var oldParts = []perdure.Part{
	{Type: perdure.PartImage, MimeType: "image/png"},
	{Type: perdure.PartImage, Data: "aGk=", MimeType: "image/png"},
	{Type: perdure.PartImage, Data: "not base64", MimeType: "image/png"},
	{Type: perdure.PartImage, Data: picture.Data, MimeType: "image/jpeg"},
	{Type: perdure.PartImage, Data: picture.Data},
	{Type: "video", Data: "aGk="},
	{},
}

// checkStorable fails the test if the transcript rules do not allow the messages.
func (c *Path) checkStorable(messages []perdure.Message) {
	var parent *perdure.EntryHead
	for _, m := range messages {
		e, err := perdure.NewMessageEntry(m)
		if err != nil {
			c.t.Fatal(err)
		}
		if len(m.Parts) == 1 && m.Parts[0].Type == perdure.PartCompaction {
			e.Type, e.Metadata = perdure.EntryCompaction, json.RawMessage(`{"last":"0198c0de-0000-7000-8000-000000000001","reason":"manual"}`)
		}
		open, err := perdure.CheckAppend(parent, e)
		if err == nil {
			err = perdure.CheckContent(e)
		}
		if err != nil {
			c.t.Fatalf("drew what cannot be stored: %v", err)
		}
		parent = &perdure.EntryHead{ID: e.ID, Type: e.Type, Open: slices.Clone(open)}
	}
}

func message(role perdure.Role, parts []perdure.Part) perdure.Message {
	return perdure.Message{Role: role, Content: perdure.Content{Parts: parts}}
}
