package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// body is the body of one attempt's request.
type body struct {
	content []byte
	// token is the token of the link that the content contains; "" if it contains none. It is not
	// stored, also not as a part of the endpoint's answer.
	token string
}

// minCutToken is the minimum length of a beginning of a token that hide removes. A text may end with a
// shorter one by chance, and a shorter one is of no use to a reader.
const minCutToken = 4

// hide removes the token from a text, also one that is cut off at the end of the text.
func (b body) hide(text string) string {
	if b.token == "" {
		return text
	}
	text = strings.ReplaceAll(text, b.token, "[token]")
	for n := len(b.token) - 1; n >= minCutToken; n-- {
		if rest, cut := strings.CutSuffix(text, b.token[:n]); cut {
			return rest
		}
	}
	return text
}

// bodyOf returns the body of an attempt. If the webhook is bound to a key that may answer the question
// that was asked, the body contains a new link for this key. Each attempt has a link of its own,
// because tokens are not stored. Errors: those of the store; then the attempt must wait.
func (s *Sender) bodyOf(ctx context.Context, w *perdure.Webhook, d *perdure.Delivery) (body, error) {
	plain := body{content: d.Payload}
	if w.KeyID == nil || s.PublicURL == nil || d.EventType != perdure.EventQuestionAsked {
		return plain, nil
	}
	var payload struct {
		Data struct{ QuestionID uuid.UUID }
	}
	if err := json.Unmarshal(d.Payload, &payload); err != nil {
		return plain, nil //nolint:nilerr // unreachable: the server has encoded the payload
	}
	token, err := s.Links.WebhookLink(ctx, w.Org, payload.Data.QuestionID, *w.KeyID)
	if err != nil || token == "" {
		return plain, err
	}
	return withLink(d.Payload, s.PublicURL, token), nil
}

// withLink adds the member link to the data of a payload.
func withLink(payload []byte, base *url.URL, token string) body {
	at := base.JoinPath(perdure.LinkPath, token).String()
	content := bytes.TrimSuffix(payload, []byte("}}"))
	content = append(content[:len(content):len(content)], `,"link":"`+at+`"}}`...)
	return body{content: content, token: token}
}
