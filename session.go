package perdure

import (
	"time"

	"github.com/google/uuid"
)

const (
	// SessionLife is the lifetime of a session from its sign-in.
	SessionLife = 12 * time.Hour
	// SessionsPerKey is the maximum number of sessions per key. Another sign-in ends the oldest
	// session.
	SessionsPerKey = 50
)

// Session is one sign-in of a browser. Its secret has two halves, and each is useless without the
// other. The cookie holds one half, the page holds the other.
type Session struct {
	ID uuid.UUID `json:"id"`
	// KeyID is the key of the sign-in; null for the token of the data directory.
	KeyID *uuid.UUID `json:"keyId"`
	// KeyName is the key's name; "token" for the token of the data directory.
	KeyName   string `json:"keyName"`
	CreatedAt Time   `json:"createdAt"`
	ExpiresAt Time   `json:"expiresAt"`
	// RemoteAddress is the peer of the connection that signed in. Behind a proxy it is the proxy's
	// address.
	RemoteAddress string `json:"remoteAddress"`
	// UserAgent is the browser's User-Agent, in printable ASCII.
	UserAgent string `json:"userAgent"`
	// Current is true for the session that made the request.
	Current bool `json:"current"`

	Org string `json:"-"`
	// Key, Cookie and Page are the SHA-256 of the key's secret and of the two halves of the
	// session's secret.
	Key    Hash `json:"-"`
	Cookie Hash `json:"-"`
	Page   Hash `json:"-"`
}
