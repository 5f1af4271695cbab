package perdure

import (
	"time"

	"github.com/google/uuid"
)

const (
	// SessionLife is the lifetime of a session from its sign-in.
	SessionLife = 12 * time.Hour
	// SessionsPerKey is the maximum number of sessions per API key. A further sign-in ends the oldest
	// session.
	SessionsPerKey = 50
)

// Session is the sign-in of one browser. Its secret has two halves: the browser stores one in a cookie,
// and the page holds the other. One half alone is useless.
type Session struct {
	ID uuid.UUID `json:"id"`
	// KeyID is the API key with which the user signed in; null for the token of the data directory.
	KeyID *uuid.UUID `json:"keyId"`
	// KeyName is the name of the API key with which the user signed in; "token" for the token of
	// the data directory.
	KeyName   string `json:"keyName"`
	CreatedAt Time   `json:"createdAt"`
	ExpiresAt Time   `json:"expiresAt"`
	// RemoteAddress is the network address from which the user signed in. Behind a proxy it is the
	// proxy's address.
	RemoteAddress string `json:"remoteAddress"`
	// UserAgent is the browser's User-Agent header, reduced to printable ASCII.
	UserAgent string `json:"userAgent"`
	// Current is true for the session that made the request.
	Current bool `json:"current"`

	Org string `json:"-"`
	// Key is the SHA-256 hash of the API key's secret. Cookie and Page are the hashes of the two
	// halves of the session's secret.
	Key    Hash `json:"-"`
	Cookie Hash `json:"-"`
	Page   Hash `json:"-"`
}
