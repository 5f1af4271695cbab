package perdure

import (
	"time"

	"github.com/google/uuid"
)

const (
	// LinkPath is the beginning of the URL path of a link to a question. The link's token follows it.
	LinkPath = "/q/"
	// LinkLife is how long a link to a question works, unless the request that creates the link
	// sets another time.
	LinkLife = 24 * time.Hour
	// MaxLinkLife is the longest time for which a link to a question can work.
	MaxLinkLife = 7 * 24 * time.Hour
	// MaxLinks is the maximum number of links that a key can have to one question. A further link
	// replaces the oldest.
	MaxLinks = 10
)

// QuestionLink is an address at which one API key answers one question without a sign-in. Whoever
// has the address votes with that key. The link stops working when its key has voted or is revoked,
// when the details of the question change, when the link expires, and when the question is final.
type QuestionLink struct {
	QuestionID uuid.UUID `json:"questionId"`
	// KeyID is the key that votes.
	KeyID uuid.UUID `json:"keyId"`
	// QuestionVersion is the version of the question when the link was created.
	QuestionVersion int64 `json:"questionVersion"`
	CreatedAt       Time  `json:"createdAt"`
	ExpiresAt       Time  `json:"expiresAt"`

	Org         string    `json:"-"`
	ExecutionID uuid.UUID `json:"-"`
	// TokenSHA256 is the SHA-256 of the link's token. The token itself is not stored.
	TokenSHA256 Hash `json:"-"`
}
