package scripted

import (
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
	// Previous is the hash of the system prompt, the tools and the messages before the last answer.
	// It is "" in the first call of a conversation.
	Previous string `json:"previous"`
}

// appendJournal appends the line about a call with a single write, so that several workers may use
// the same file.
func appendJournal(path string, req llm.Request, turn int) error {
	prompt, err := llm.PromptOf(req)
	if err != nil {
		return err
	}
	call := Call{
		At: perdure.At(time.Now()), Model: req.Model, Turn: turn,
		Messages: prompt.Messages, SHA256: prompt.SHA256, Previous: prompt.Prefix,
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
		_ = file.Close() // the error of the write is more specific
		return err
	}
	return file.Close()
}
