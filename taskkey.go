package perdure

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math/big"
	"strconv"

	"github.com/google/uuid"
	"github.com/gowebpki/jcs"
)

// DefaultTaskKey returns the idempotency key of a task for which the caller set no key. The key is
// "task:" and the first 16 bytes of a SHA-256 in hexadecimal. The hash covers the 16 raw bytes of the
// execution's id, ":", kind, ":", the input as canonical JSON (RFC 8785) and, if an instance is
// given, ":" and the instance. docs/protocol.md has test vectors.
func DefaultTaskKey(execution uuid.UUID, kind string, input json.RawMessage, instance string) (string, error) {
	if canonical, ok := plainCanonical(input); ok {
		return taskKey(execution, kind, canonical, instance), nil
	}
	if err := checkNumbers(input); err != nil {
		return "", err
	}
	canonical, err := jcs.Transform(input)
	if err != nil {
		return "", FieldErrorf("input", "is not valid JSON: %v", err)
	}
	return taskKey(execution, kind, canonical, instance), nil
}

// CallerTaskKey returns the stored key of a task for which the caller has set TaskOptions.Key. It is
// computed like DefaultTaskKey, with the caller's key in place of the input.
func CallerTaskKey(execution uuid.UUID, kind, key string) string {
	return taskKey(execution, kind, []byte(key), "")
}

// StepKey returns the key under which the result of a step is recorded. It is computed like
// DefaultTaskKey, with the kind "step" and the quoted name of the step in place of the input.
func StepKey(execution uuid.UUID, name, instance string) string {
	return taskKey(execution, "step", []byte(strconv.Quote(name)), instance)
}

func taskKey(execution uuid.UUID, kind string, middle []byte, instance string) string {
	h := sha256.New()
	h.Write(execution[:])
	h.Write([]byte(":" + kind + ":"))
	h.Write(middle)
	if instance != "" {
		h.Write([]byte(":" + instance))
	}
	return "task:" + hex.EncodeToString(h.Sum(nil)[:16])
}

// TaskID derives the id of a task from its key, as a UUIDv5 in the OID namespace. Equal keys have
// equal ids.
func TaskID(key string) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceOID, []byte(key)) }

// checkNumbers refuses integers that a float64 does not represent exactly. Canonical JSON could write
// two different integers in the same way, so that two tasks would get one key.
func checkNumbers(input json.RawMessage) error {
	d := json.NewDecoder(bytes.NewReader(input))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return nil // the end of the input, or a syntax error that is reported later
		}
		if number, ok := token.(json.Number); ok && !exact(number) {
			return FieldErrorf("input", "the number %s is not exact as a 64-bit float; give the task a key of its own or send the number as a string", number)
		}
	}
}

// exact reports whether a float64 represents an integer exactly. For a fraction it returns true,
// because every JSON reader rounds a fraction to the nearest float64.
func exact(number json.Number) bool {
	f, err := number.Float64()
	if err != nil {
		return false
	}
	want, ok := new(big.Rat).SetString(number.String())
	if !ok {
		return false
	}
	if !want.IsInt() {
		return true
	}
	got := new(big.Rat).SetFloat64(f)
	return got != nil && got.Cmp(want) == 0
}
