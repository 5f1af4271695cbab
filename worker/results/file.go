package results

import (
	"bytes"
	"crypto/sha256"

	"github.com/perdure/perdure"
)

// magic is the beginning of every file with a result. After it come the SHA-256 of the task's
// input, the SHA-256 of the result, and the result.
const magic = "perdure result 1\n"

const sum = sha256.Size

func encode(input perdure.Hash, result []byte) []byte {
	check := sha256.Sum256(result)
	raw := make([]byte, 0, len(magic)+2*sum+len(result))
	raw = append(raw, magic...)
	raw = append(raw, input[:]...)
	raw = append(raw, check[:]...)
	return append(raw, result...)
}

// decode returns the result in the file content raw. The bool is false if the file is damaged, or
// belongs to a task with another input.
func decode(input perdure.Hash, raw []byte) ([]byte, bool) {
	rest, ok := bytes.CutPrefix(raw, []byte(magic))
	if !ok || len(rest) < 2*sum || !bytes.Equal(rest[:sum], input[:]) {
		return nil, false
	}
	result := rest[2*sum:]
	check := sha256.Sum256(result)
	return result, bytes.Equal(check[:], rest[sum:2*sum])
}
