package schema

import (
	"errors"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// patterns compiles the regular expressions of one schema, each of them once.
type patterns struct {
	done  map[string]*pattern
	total int // total number of instructions
	over  *LimitError
}

// pattern is a regular expression with its number of instructions. The time of a match is
// proportional to that number times the length of the text.
type pattern struct {
	*regexp.Regexp
	steps int
}

func (p *patterns) compile(text string) (jsonschema.Regexp, error) {
	if done, ok := p.done[text]; ok {
		return done, nil
	}
	made, err := compilePattern(text, MaxPatternSteps-p.total)
	if err != nil {
		_ = errors.As(err, &p.over)
		return nil, err
	}
	if p.done == nil {
		p.done = map[string]*pattern{}
	}
	p.done[text] = made
	p.total += made.steps
	return made, nil
}

// compilePattern compiles a regular expression. `room` is its maximum number of instructions.
func compilePattern(text string, room int) (*pattern, error) {
	if len(text) > MaxPattern {
		return nil, &LimitError{What: "bytes in a regular expression", Got: len(text), Max: MaxPattern}
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	if len(prog.Inst) > room {
		return nil, &LimitError{What: "instructions in its regular expressions", Max: MaxPatternSteps}
	}
	made, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	return &pattern{Regexp: made, steps: len(prog.Inst)}, nil
}

// stepsOf returns the number of instructions of a compiled expression.
func stepsOf(r jsonschema.Regexp) int {
	if p, ok := r.(*pattern); ok {
		return p.steps
	}
	return MaxPatternSteps
}

// checkRegex checks a value with the format "regex": it must be a regular expression within the
// limits.
func checkRegex(value any) error {
	text, ok := value.(string)
	if !ok {
		return nil
	}
	_, err := compilePattern(text, MaxPatternSteps)
	return err
}
