package scripted

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// Call is one line of the journal.
type Call struct {
	At       perdure.Time `json:"at"`
	Model    string       `json:"model"`
	Turn     int          `json:"turn"`
	Messages int          `json:"messages"`
	SHA256   string       `json:"sha256"`
	// Previous is "" in a conversation's first call.
	Previous string `json:"previous"`
}

// appendJournal writes the line in one piece, so that workers may share a file.
func appendJournal(path string, req llm.Request, turn int) error {
	call := Call{
		At: perdure.At(time.Now()), Model: req.Model, Turn: turn, Messages: len(req.Messages),
	}
	var err error
	if call.SHA256, err = hash(req, len(req.Messages)); err != nil {
		return err
	}
	if last := lastAnswer(req.Messages); last >= 0 {
		if call.Previous, err = hash(req, last); err != nil {
			return err
		}
	}
	line, err := json.Marshal(call)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := file.Write(append(line, '\n')); err != nil {
		_ = file.Close() // the first error says more
		return err
	}
	return file.Close()
}

// hash is of the prompt with its first n messages.
func hash(req llm.Request, n int) (string, error) {
	h := sha256.New()
	err := json.NewEncoder(h).Encode(struct {
		System   string
		Tools    []llm.ToolSpec
		Messages []perdure.Message
	}{req.System, req.Tools, req.Messages[:n]})
	return hex.EncodeToString(h.Sum(nil)), err
}
