// Package sealed makes text that a client keeps for Perdure and gives back: it cannot
// read it, and neither change it nor give it to another org.
//
// A text is AES-256-GCM (NIST SP 800-38D) under keys that HKDF-SHA-256 (RFC 5869)
// derives from a secret of the installation, for one org and one purpose. The nonce is
// a keyed hash of the plain text, as in a synthetic IV (RFC 5297): the same plain text
// is sealed as the same text, so that a stream that is read again is the same.
package sealed

import (
	"bytes"
	"compress/flate"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"strings"
)

// MaxPlain is the most bytes that are sealed, and MaxText the most that are opened.
const (
	MaxPlain = 4 << 20
	MaxText  = 6 << 20
)

// MinSecret is the least bytes of a secret.
const MinSecret = 32

// prefix tells this form from other ones.
const prefix = "prd1."

// ErrForeign is why a text is not opened: it was changed, cut, or sealed by another
// installation, for another org or another purpose.
var ErrForeign = errors.New("it was changed, or not made here for this org")

// Box seals and opens for one org and one purpose. It is safe for concurrent use.
type Box struct {
	aead     cipher.AEAD
	nonceKey []byte
}

// New returns the box of an org. Boxes of different purposes do not open each other's
// texts. The error is that of a secret that is too short.
func New(secret []byte, org, purpose string) (*Box, error) {
	if len(secret) < MinSecret {
		return nil, errors.New("the secret has under 32 bytes")
	}
	// The purpose is a constant without a zero byte, so that no two pairs are one text.
	keys, err := hkdf.Key(sha256.New, secret, nil, "perdure sealed\x00"+purpose+"\x00"+org, 64)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(keys[:32])
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	return &Box{aead: aead, nonceKey: keys[32:]}, err
}

// Seal returns the text for plain, and "" where that is over MaxPlain.
func (b *Box) Seal(plain []byte) string {
	if len(plain) > MaxPlain {
		return ""
	}
	packed := pack(plain)
	mac := hmac.New(sha256.New, b.nonceKey)
	mac.Write(packed)
	nonce := mac.Sum(nil)[:b.aead.NonceSize()]
	return prefix + base64.RawURLEncoding.EncodeToString(b.aead.Seal(nonce, nonce, packed, nil))
}

// Open returns what was sealed. The error is ErrForeign.
func (b *Box) Open(text string) ([]byte, error) {
	body, ours := strings.CutPrefix(text, prefix)
	if !ours || len(text) > MaxText {
		return nil, ErrForeign
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(body)
	if err != nil || len(raw) < b.aead.NonceSize() || strings.ContainsAny(body, "\r\n") {
		return nil, ErrForeign
	}
	packed, err := b.aead.Open(nil, raw[:b.aead.NonceSize()], raw[b.aead.NonceSize():], nil)
	if err != nil {
		return nil, ErrForeign
	}
	return unpack(packed)
}

// pack compresses: what is sealed is mostly words, and goes over the wire each turn.
func pack(plain []byte) []byte {
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestSpeed)
	if err == nil {
		_, err = w.Write(plain)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil { // the level is one that there is, and a buffer takes all
		panic(err)
	}
	return out.Bytes()
}

func unpack(packed []byte) ([]byte, error) {
	plain, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), MaxPlain+1))
	if err != nil || len(plain) > MaxPlain {
		return nil, ErrForeign
	}
	return plain, nil
}
