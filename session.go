package perdure

import (
	"time"

	"github.com/google/uuid"
)

const (
	// SessionLife is how long a session lasts from its sign-in.
	SessionLife = 12 * time.Hour
	// SessionsPerKey is how many sessions one key has at most; a further sign-in
	// ends the oldest.
	SessionsPerKey = 50
)

// Session is one sign-in of a browser. Its secret has two halves, and neither does
// anything without the other: the cookie holds one, the page the other.
type Session struct {
	ID uuid.UUID `json:"id"`
	// KeyID is the key that the sign-in was made with; null for the token of the
	// data directory.
	KeyID *uuid.UUID `json:"keyId"`
	// KeyName is that key's name; "token" for the token of the data directory.
	KeyName   string `json:"keyName"`
	CreatedAt Time   `json:"createdAt"`
	ExpiresAt Time   `json:"expiresAt"`
	// RemoteAddress is the peer of the connection that signed in: a proxy's, if
	// there is one.
	RemoteAddress string `json:"remoteAddress"`
	// UserAgent is what the browser said that it is, in printable ASCII.
	UserAgent string `json:"userAgent"`
	// Current is true for the session that the request was made with.
	Current bool `json:"current"`

	Org string `json:"-"`
	// Key, Cookie and Page are SHA-256: of the key's secret, and of the two halves.
	Key    Hash `json:"-"`
	Cookie Hash `json:"-"`
	Page   Hash `json:"-"`
}
