package scripted

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// argumentPiece is the size in bytes of the pieces in which the arguments of a tool call are streamed.
const argumentPiece = 16

// player plays the steps of one turn.
type player struct {
	ctx     context.Context
	req     llm.Request
	turn    int
	pace    time.Duration
	builder *llm.Builder
	calls   int
	before  string // the word of the previous step
	stop    perdure.StopReason
	usage   *perdure.Usage
}

func newPlayer(ctx context.Context, req llm.Request, turn int, pace time.Duration, emit func(llm.Delta) error) *player {
	return &player{ctx: ctx, req: req, turn: turn, pace: pace, builder: llm.NewBuilder(emit)}
}

func (p *player) play(steps []step) (*llm.Response, error) {
	for _, s := range steps {
		if err := p.step(s); err != nil {
			return nil, err
		}
		p.before = s.word
	}
	if p.stop == "" {
		p.stop = perdure.StopEndTurn
		if p.calls > 0 {
			p.stop = perdure.StopToolUse
		}
	}
	resp, err := p.builder.Finish(llm.Model{Provider: Name, ID: p.req.Model}, p.stop, p.tokens(), nil)
	if err != nil {
		return nil, err
	}
	resp.ProviderResponseID = "script_" + strconv.Itoa(p.turn)
	return resp, nil
}

func (p *player) step(s step) error {
	switch s.word {
	case "text":
		return p.say(p.builder.Text, p.joined(s))
	case "thinking":
		return p.say(p.builder.Thinking, p.joined(s))
	case "call":
		return p.call(s)
	case "pace":
		p.pace = s.duration
	case "pause":
		return p.wait(s.duration)
	case "usage":
		p.usage = &s.usage
	case "stop":
		p.stop = s.stop
	case "fail":
		return &llm.Error{Kind: s.kind, Retryable: retryable[s.kind], Provider: Name, Message: s.text}
	case "expect":
		if !strings.Contains(fresh(p.req.Messages), s.text) {
			return refuse("script %s, turn %d: expected %q in what is new", p.req.Model, p.turn, s.text)
		}
	}
	return nil
}

// joined returns the text of a step. The text begins with a line break if the previous step has the
// same word, such as "text".
func (p *player) joined(s step) string {
	if p.before == s.word {
		return "\n" + s.text
	}
	return s.text
}

func (p *player) say(add func(string) error, text string) error {
	for _, word := range words(text) {
		if err := p.wait(p.pace); err != nil {
			return err
		}
		if err := add(word); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) call(s step) error {
	p.calls++
	id := "call_" + strconv.Itoa(p.turn) + "_" + strconv.Itoa(p.calls)
	part, err := p.builder.StartTool(s.name, id)
	if err != nil {
		return err
	}
	add := func(piece string) error { return p.builder.ToolArguments(part, piece) }
	for rest := s.text; rest != ""; {
		piece := head(rest, argumentPiece)
		rest = rest[len(piece):]
		if err := p.wait(p.pace); err != nil {
			return err
		}
		if err := add(piece); err != nil {
			return err
		}
	}
	return p.builder.EndTool(part)
}

// wait waits for the duration d. If the context ends first, it returns the context's error.
func (p *player) wait(d time.Duration) error {
	if d <= 0 {
		return p.ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

// tokens returns the token counts that the script sets. If the script sets none, tokens estimates
// them: one token for four bytes of the messages (input) and of the answer (output).
func (p *player) tokens() perdure.Usage {
	if p.usage != nil {
		return *p.usage
	}
	return perdure.Usage{Input: quarter(p.req.Messages), Output: quarter(p.builder.Parts())}
}

func quarter(v any) int64 {
	text, err := json.Marshal(v)
	if err != nil { // raw JSON in a part may be invalid
		return 1
	}
	return int64(len(text)+3) / 4
}

// words splits a text after each run of white space.
func words(text string) []string {
	var out []string
	start, inSpace := 0, false
	for i, r := range text {
		space := r == ' ' || r == '\n' || r == '\t'
		if inSpace && !space {
			out = append(out, text[start:i])
			start = i
		}
		inSpace = space
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}

// head returns the beginning of s: at most n bytes, but at least one character.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	if n == 0 {
		return s
	}
	return s[:n]
}
