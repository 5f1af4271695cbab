package conversations

import (
	"crypto/rand"
	"math/big"
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// NewResponseID returns a new id of a response: resp_ and 24 random characters of base 62.
func NewResponseID() string {
	id := []byte("resp_")
	radix := big.NewInt(int64(len(base62)))
	for range 24 {
		n, err := rand.Int(rand.Reader, radix)
		if err != nil {
			panic(err) // the system has no randomness
		}
		id = append(id, base62[n.Int64()])
	}
	return string(id)
}
