// Package sealed encrypts text that a client stores for Perdure and sends back. The client cannot
// read or change the text, or use it for another org.
//
// A sealed text is encrypted with AES-256-GCM (NIST SP 800-38D). HKDF-SHA-256 (RFC 5869) derives
// the keys from a secret of the installation, for one org and one purpose. The nonce is a keyed
// hash of the plain text, as in a synthetic IV (RFC 5297). Equal plain texts therefore have equal
// sealed texts, and a stream is the same when it is read a second time.
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

// MaxPlain is the maximum length of a plain text in bytes. MaxText is the maximum length of a
// sealed text.
const (
	MaxPlain = 4 << 20
	MaxText  = 6 << 20
)

// MinSecret is the minimum length of a secret in bytes.
const MinSecret = 32

// prefix begins every sealed text and identifies its format.
const prefix = "prd1."

// ErrForeign is the error of a text that cannot be opened: it was changed or cut, or was sealed by
// another installation, for another org, or for another purpose.
var ErrForeign = errors.New("it was changed, or not made here for this org")

// Box seals and opens texts for one org and one purpose. It is safe for concurrent use.
type Box struct {
	aead     cipher.AEAD
	nonceKey []byte
}

// New returns the box of an org and a purpose. A box cannot open texts of another org or purpose.
// New returns an error if the secret is shorter than MinSecret.
func New(secret []byte, org, purpose string) (*Box, error) {
	if len(secret) < MinSecret {
		return nil, errors.New("the secret has under 32 bytes")
	}
	// Different pairs of purpose and org have different texts as the parameter `info` of HKDF,
	// because the purpose is a constant without a zero byte.
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

// Seal returns the sealed text for a plain text; "" if the plain text is longer than MaxPlain.
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

// Open returns the plain text of a sealed text. Errors: ErrForeign.
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

// pack compresses a plain text, which is mostly natural language and is sent in each turn of a
// conversation.
func pack(plain []byte) []byte {
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestSpeed)
	if err == nil {
		_, err = w.Write(plain)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil { // the level is valid, and a write to memory never fails
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
