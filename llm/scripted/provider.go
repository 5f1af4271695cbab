package scripted

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// Name is the name of this provider.
const Name = "scripted"

// maxScript is the maximum size of a script in bytes.
const maxScript = 4 << 20

// Config is the configuration of the provider.
type Config struct {
	// Dir is the directory that contains the scripts. The id of a model is a path below this directory;
	// files outside it cannot be read. Default: the working directory.
	Dir string
	// Journal, if set, is a file to which each call appends a line; see the package comment.
	Journal string
}

// Provider implements llm.Provider.
type Provider struct{ config Config }

// New creates the provider. The directory need not exist yet.
func New(config Config) *Provider {
	if config.Dir == "" {
		config.Dir = "."
	}
	return &Provider{config: config}
}

// Name returns the name of the provider, "scripted".
func (p *Provider) Name() string { return Name }

// Abilities implements llm.Able. The provider declares all abilities, because no request can change
// the answer of a script.
func (p *Provider) Abilities() []llm.Ability {
	return []llm.Ability{llm.AbleToChooseTools, llm.AbleToCallOneTool, llm.AbleToFormat, llm.AbleToSayObject}
}

// Stream implements llm.Provider.
func (p *Provider) Stream(ctx context.Context, req llm.Request, emit func(llm.Delta) error) (*llm.Response, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if req.BaseURL != "" || req.APIKeyEnv != "" {
		return nil, perdure.Errorf(perdure.PermissionDenied, "provider %q takes no endpoint", Name)
	}
	n := answers(req.Messages)
	turn := n + 1
	if req.Purpose == llm.PurposeCompaction {
		turn = 0
	}
	if p.config.Journal != "" {
		if err := appendJournal(p.config.Journal, req, turn); err != nil {
			return nil, &llm.Error{Kind: llm.Unknown, Provider: Name, Message: "the journal of calls cannot be written", Err: err}
		}
	}
	s, err := p.load(req.Model)
	if err != nil {
		return nil, err
	}
	steps, err := s.steps(req, turn, n)
	if err != nil {
		return nil, err
	}
	pl := newPlayer(ctx, req, turn, s.pace, emit)
	return pl.play(steps)
}

// steps returns the steps of a turn or, if turn is 0, of the summary. The parameter n is the number
// of answers in the conversation.
func (s *script) steps(req llm.Request, turn, n int) ([]step, error) {
	if turn > len(s.turns) {
		return nil, refuse("script %s has %d turns, and the conversation asks for turn %d", req.Model, len(s.turns), turn)
	}
	play := func(fresh string) ([]step, bool) { return s.summarize(n, fresh) }
	if turn > 0 {
		play = s.turns[turn-1].steps
	}
	steps, fits := play(fresh(req.Messages))
	if !fits {
		return nil, refuse("script %s: no alternative of turn %d fits what is new", req.Model, turn)
	}
	return steps, nil
}

func (p *Provider) load(model string) (*script, error) {
	text, err := p.read(model)
	if err != nil {
		var path *os.PathError
		if errors.As(err, &path) { // the error must not show the path of the directory
			err = path.Err
		}
		return nil, refuse("script %s cannot be read: %v", model, err)
	}
	s, err := parse(text)
	if err != nil {
		return nil, refuse("script %s, %v", model, err)
	}
	return s, nil
}

func (p *Provider) read(model string) (string, error) {
	root, err := os.OpenRoot(p.config.Dir)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }() // nothing was written, so an error does no harm
	file, err := root.Open(filepath.FromSlash(model))
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxScript+1))
	if err == nil && len(text) > maxScript {
		err = fmt.Errorf("it is larger than %d bytes", maxScript)
	}
	return string(text), err
}

func refuse(format string, args ...any) *llm.Error {
	return &llm.Error{Kind: llm.InvalidRequest, Provider: Name, Message: fmt.Sprintf(format, args...)}
}

// lastAnswer returns the index of the last assistant message, or -1 if there is none.
func lastAnswer(messages []perdure.Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == perdure.RoleAssistant {
			return i
		}
	}
	return -1
}

// fresh returns the text of the messages after the last assistant message.
func fresh(messages []perdure.Message) string {
	var texts []string
	for _, m := range messages[lastAnswer(messages)+1:] {
		texts = append(texts, m.PlainText())
		for _, p := range m.Parts {
			switch p.Type {
			case perdure.PartCompaction: // in the form in which other providers send it
				texts[len(texts)-1] = perdure.SummaryPrefix + p.Text
			case perdure.PartToolResult:
				texts = append(texts, perdure.Content{Parts: p.Parts}.PlainText())
			}
		}
	}
	return strings.Join(texts, "\n")
}
