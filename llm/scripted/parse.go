package scripted

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// parse parses a script. An error contains the number of the invalid line.
func parse(text string) (*script, error) {
	p := &parser{lines: strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")}
	for p.next() {
		if err := p.line(); err != nil {
			return nil, fmt.Errorf("line %d: %w", p.at, err)
		}
	}
	if err := p.endTurn(); err != nil {
		return nil, err
	}
	if len(p.script.turns) == 0 {
		return nil, fmt.Errorf("there is no turn")
	}
	return &p.script, nil
}

type parser struct {
	lines      []string
	at         int // number of the current line, from 1
	word, rest string
	script     script
	summary    bool // whether the current section is the summary, and not a turn
}

// next advances to the next line that is neither empty nor a comment.
func (p *parser) next() bool {
	for p.at < len(p.lines) {
		line := strings.TrimSpace(p.lines[p.at])
		p.at++
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		p.word, p.rest = cut(line)
		return true
	}
	return false
}

// cut splits a line into its first word and the rest.
func cut(line string) (word, rest string) {
	i := strings.IndexAny(line, " \t")
	if i < 0 {
		return line, ""
	}
	return line[:i], strings.TrimSpace(line[i:])
}

func (p *parser) line() error {
	switch p.word {
	case "turn":
		if err := p.endTurn(); err != nil {
			return err
		}
		p.summary = false
		p.script.turns = append(p.script.turns, turn{line: p.at})
		return nil
	case "summary":
		if err := p.endTurn(); err != nil {
			return err
		}
		if p.script.summary != nil {
			return fmt.Errorf("there is a summary already, in line %d", p.script.summary.line)
		}
		p.summary, p.script.summary = true, &turn{line: p.at}
		return nil
	case "when", "else":
		return p.alternative()
	}
	s, err := p.step()
	if err != nil {
		return err
	}
	if p.current() == nil {
		if s.word != "pace" {
			return fmt.Errorf("%q stands before the first turn", s.word)
		}
		p.script.pace = s.duration
		return nil
	}
	p.add(s)
	return nil
}

func (p *parser) alternative() error {
	if p.current() == nil {
		return fmt.Errorf("%q stands before the first turn", p.word)
	}
	if (p.word == "when") != (p.rest != "") {
		return fmt.Errorf("when takes the words to look for, else takes none")
	}
	t := p.current()
	t.alternatives = append(t.alternatives, alternative{when: p.rest})
	return nil
}

// current returns the turn or the summary that is being parsed; nil before the first section.
func (p *parser) current() *turn {
	switch {
	case p.summary:
		return p.script.summary
	case len(p.script.turns) == 0:
		return nil
	}
	return &p.script.turns[len(p.script.turns)-1]
}

func (p *parser) add(s step) {
	t := p.current()
	if n := len(t.alternatives); n > 0 {
		t.alternatives[n-1].steps = append(t.alternatives[n-1].steps, s)
		return
	}
	t.common = append(t.common, s)
}

// endTurn ends the current turn or summary. It returns an error if an answer could be empty, that
// is, without text, thinking, a call and a failure.
func (p *parser) endTurn() error {
	t := p.current()
	if t == nil {
		return nil
	}
	if len(t.alternatives) == 0 && !speaks(t.common) {
		return silent(t.line)
	}
	for _, a := range t.alternatives {
		if !speaks(concat(t.common, a.steps)) {
			return silent(t.line)
		}
	}
	return nil
}

func speaks(steps []step) bool {
	return slices.ContainsFunc(steps, func(s step) bool {
		return slices.Contains([]string{"text", "thinking", "call", "fail"}, s.word)
	})
}

func silent(line int) error {
	return fmt.Errorf("line %d: the turn says nothing; an empty answer is written: fail empty_answer", line)
}

func (p *parser) step() (step, error) {
	s := step{word: p.word}
	var err error
	switch p.word {
	case "text", "thinking":
		s.text, err = p.block(p.rest)
	case "call":
		s.name, s.text, err = p.call()
	case "expect":
		s.text = p.rest
	case "pace", "pause":
		s.duration, err = time.ParseDuration(p.rest)
	case "usage":
		s.usage, err = parseUsage(p.rest)
	case "stop":
		s.stop, err = parseStop(p.rest)
	case "fail":
		s.kind, s.text, err = parseFailure(p.rest)
	default:
		err = fmt.Errorf("%q is no word of a script", p.word)
	}
	if err == nil && s.word == "expect" && s.text == "" {
		err = fmt.Errorf("expect takes the words to look for")
	}
	return s, err
}

// block returns the operand of a line, whose text after the first word is `rest`. If `rest` is
// <<MARK, the operand consists of the following lines up to the line MARK; otherwise it is `rest`.
func (p *parser) block(rest string) (string, error) {
	mark, isBlock := strings.CutPrefix(rest, "<<")
	if !isBlock || mark == "" || strings.ContainsAny(mark, " \t") {
		return rest, nil
	}
	for end := p.at; end < len(p.lines); end++ {
		if strings.TrimSpace(p.lines[end]) != mark {
			continue
		}
		indent := p.lines[end][:strings.Index(p.lines[end], mark)]
		lines := slices.Clone(p.lines[p.at:end])
		for i := range lines {
			lines[i] = strings.TrimPrefix(lines[i], indent)
		}
		p.at = end + 1
		return strings.Join(lines, "\n"), nil
	}
	return "", fmt.Errorf("<<%s has no end", mark)
}

// call parses the name of a tool and its arguments, which are a text between two marks (see block)
// or JSON over several lines.
func (p *parser) call() (name, arguments string, err error) {
	name, rest := cut(p.rest)
	if name == "" {
		return "", "", fmt.Errorf("call takes the name of a tool")
	}
	if rest == "" {
		return name, "{}", nil
	}
	if strings.HasPrefix(rest, "<<") {
		arguments, err = p.block(rest)
		return name, arguments, err
	}
	for end := p.at; ; end++ {
		if json.Valid([]byte(rest)) {
			p.at = end
			return name, rest, nil
		}
		if end == len(p.lines) {
			return "", "", fmt.Errorf("the arguments of %s are not JSON", name)
		}
		rest += "\n" + p.lines[end]
	}
}

func parseUsage(rest string) (perdure.Usage, error) {
	var u perdure.Usage
	var reasoning int64
	counts := map[string]*int64{"in": &u.Input, "out": &u.Output, "reasoning": &reasoning, "cacheRead": &u.CacheRead, "cacheWrite": &u.CacheWrite}
	for _, field := range strings.Fields(rest) {
		name, value, _ := strings.Cut(field, "=")
		n, err := strconv.ParseInt(value, 10, 64)
		if counts[name] == nil || err != nil || n < 0 {
			return u, fmt.Errorf("usage takes in=N out=N reasoning=N cacheRead=N cacheWrite=N, not %q", field)
		}
		*counts[name] = n
		if name == "reasoning" {
			u.Reasoning = &reasoning
		}
	}
	return u, nil
}

func parseStop(rest string) (perdure.StopReason, error) {
	stop := perdure.StopReason(rest)
	known := []perdure.StopReason{perdure.StopEndTurn, perdure.StopToolUse, perdure.StopMaxTokens, perdure.StopContextLength, perdure.StopRefusal}
	if !slices.Contains(known, stop) {
		return "", fmt.Errorf("stop takes one of %v", known)
	}
	return stop, nil
}

// retryable contains the kinds of failure that a script can name. The value says whether a retry may
// succeed.
var retryable = map[llm.ErrorKind]bool{
	llm.RateLimited: true, llm.Overloaded: true, llm.Timeout: true, llm.Network: true,
	llm.EmptyAnswer: true, llm.Unknown: true,
	llm.Auth: false, llm.InvalidRequest: false, llm.ContextLength: false, llm.Refused: false,
}

func parseFailure(rest string) (llm.ErrorKind, string, error) {
	kind, message := cut(rest)
	if _, known := retryable[llm.ErrorKind(kind)]; !known {
		return "", "", fmt.Errorf("fail takes a kind of error, not %q", kind)
	}
	if message == "" {
		message = "the script says so"
	}
	return llm.ErrorKind(kind), message, nil
}
