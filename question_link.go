package perdure

import (
	"time"

	"github.com/google/uuid"
)

const (
	// LinkPath is the prefix of the addresses of links to questions. The token follows it.
	LinkPath = "/q/"
	// LinkLife is how long a link to a question works if its request says nothing else.
	LinkLife = 24 * time.Hour
	// MaxLinkLife is the longest time for which a link works.
	MaxLinkLife = 7 * 24 * time.Hour
	// MaxLinks is the maximum number of links of a key to a question. One more replaces the oldest.
	MaxLinks = 10
)

// QuestionLink is an address at which one key answers one question without signing in. Whoever has
// the address votes with the key. A link ends with the vote or the revocation of its key, when the
// details of the question are changed, when it expires, and with the question.
type QuestionLink struct {
	QuestionID uuid.UUID `json:"questionId"`
	// KeyID is the key that votes.
	KeyID uuid.UUID `json:"keyId"`
	// QuestionVersion is the version of the question for which the link was created.
	QuestionVersion int64 `json:"questionVersion"`
	CreatedAt       Time  `json:"createdAt"`
	ExpiresAt       Time  `json:"expiresAt"`

	Org         string    `json:"-"`
	ExecutionID uuid.UUID `json:"-"`
	// TokenSHA256 is the SHA-256 of the token. The token itself is not stored.
	TokenSHA256 Hash `json:"-"`
}
