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

// body is the HTTP body of one attempt to send a delivery.
type body struct {
	content []byte
	// token is the secret token of the link in the content; "" if the content has no link. The
	// token is not stored. A response of the endpoint that contains the token is stored without the
	// token.
	token string
}

// minCutToken is the minimum length of an incomplete token that hide removes from the end of a
// text. A shorter match is probably chance, and too short to reveal the token.
const minCutToken = 4

// hide removes the token from a text. It also removes a token that is cut off at the end of the
// text.
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

// bodyOf returns the body of an attempt's request. If the delivery is about a new question, and the
// webhook is bound to a key that may answer the question, the body contains a new link for this
// key. Each attempt has its own link, because tokens are not stored. Errors: those of the store;
// the attempt must then be repeated.
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

// withLink returns the payload with a link to the question as the member "link" of the payload's
// data. The parameter `base` is the public URL of the server.
func withLink(payload []byte, base *url.URL, token string) body {
	at := base.JoinPath(perdure.LinkPath, token).String()
	content := bytes.TrimSuffix(payload, []byte("}}"))
	content = append(content[:len(content):len(content)], `,"link":"`+at+`"}}`...)
	return body{content: content, token: token}
}
