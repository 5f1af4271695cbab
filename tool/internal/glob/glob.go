// Package glob matches paths against glob patterns.
package glob

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Pattern is a compiled glob pattern.
type Pattern struct {
	re       *regexp.Regexp
	baseOnly bool
}

// Compile compiles a glob pattern. * and ? match within a path element; ** as an element matches
// any number of elements. [abc], [a-z] and [!a] are classes, {a,b} are alternatives, and \ makes
// the next character literal. A pattern without a slash is matched against the last element of a
// path. A pattern with a slash is matched against the whole path.
func Compile(pattern string) (*Pattern, error) {
	p := globParser{in: strings.TrimPrefix(pattern, "./")}
	if p.in == "" {
		return nil, errors.New("the pattern is empty")
	}
	if err := p.run(); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(`(?s)\A` + p.out.String() + `\z`)
	if err != nil {
		return nil, fmt.Errorf("the pattern %q is not valid", pattern)
	}
	return &Pattern{re: re, baseOnly: !strings.Contains(p.in, "/")}, nil
}

// Match reports whether rel, a slash-separated relative path, matches the pattern.
func (g *Pattern) Match(rel string) bool {
	if g.baseOnly {
		rel = rel[strings.LastIndexByte(rel, '/')+1:]
	}
	return g.re.MatchString(rel)
}

// globParser translates a glob pattern to a regular expression of package regexp, which matches in
// linear time.
type globParser struct {
	in    string
	at    int
	out   strings.Builder
	depth int // number of open braces
}

func (p *globParser) run() error {
	for p.at < len(p.in) {
		if err := p.step(); err != nil {
			return err
		}
	}
	if p.depth > 0 {
		return errors.New("the pattern has a { without its }")
	}
	return nil
}

func (p *globParser) step() error {
	c := p.in[p.at]
	switch {
	case c == '*':
		p.stars()
		return nil
	case c == '?':
		p.out.WriteString(`[^/]`)
	case c == '[':
		return p.class()
	case c == '{':
		p.depth++
		p.out.WriteString(`(?:`)
	case c == '}' && p.depth > 0:
		p.depth--
		p.out.WriteString(`)`)
	case c == ',' && p.depth > 0:
		p.out.WriteString(`|`)
	case c == '\\':
		if p.at++; p.at == len(p.in) {
			return errors.New(`the pattern ends in \`)
		}
		fallthrough
	default:
		p.literal()
		return nil
	}
	p.at++
	return nil
}

// literal translates one character, or one byte of invalid UTF-8, that stands for itself.
func (p *globParser) literal() {
	n := 1
	for p.at+n < len(p.in) && p.in[p.at+n]&0xC0 == 0x80 {
		n++
	}
	p.out.WriteString(regexp.QuoteMeta(p.in[p.at : p.at+n]))
	p.at += n
}

// stars translates a sequence of *. Two or more * that form a whole element of the pattern match
// any number of path elements; stars then also translates the slash after them.
func (p *globParser) stars() {
	start := p.at
	for p.at < len(p.in) && p.in[p.at] == '*' {
		p.at++
	}
	first := start == 0 || strings.IndexByte("/{,", p.in[start-1]) >= 0
	last := p.at == len(p.in) || strings.IndexByte("/},", p.in[p.at]) >= 0
	switch {
	case p.at-start < 2 || !first || !last:
		p.out.WriteString(`[^/]*`)
	case p.at < len(p.in) && p.in[p.at] == '/':
		p.at++
		p.out.WriteString(`(?:[^/]+/)*`)
	default:
		p.out.WriteString(`.*`)
	}
}

// class translates a class such as [a-z]. It omits a slash in the class, because path elements
// contain none.
func (p *globParser) class() error {
	end := p.at + 1
	if end < len(p.in) && (p.in[end] == '!' || p.in[end] == '^') {
		end++
	}
	negated := end > p.at+1
	start := end
	for first := true; ; first = false {
		if end >= len(p.in) {
			return errors.New("the pattern has a [ without its ]")
		}
		if p.in[end] == '\\' && end+1 < len(p.in) {
			end++
		} else if p.in[end] == ']' && !first {
			break
		}
		end++
	}
	body := classBody(p.in[start:end])
	if negated {
		p.out.WriteString(`[^/` + body + `]`)
	} else {
		p.out.WriteString(`[` + body + `]`)
	}
	p.at = end + 1
	return nil
}

// classBody escapes the characters of a class that RE2 reads differently, and omits slashes.
func classBody(in string) string {
	var out strings.Builder
	for i := 0; i < len(in); i++ {
		c := in[i]
		if c == '\\' && i+1 < len(in) {
			i++
			c = in[i]
			if c == '-' {
				out.WriteString(`\-`)
				continue
			}
		}
		switch c {
		case '[', ']', '^', '\\', '&', '~':
			out.WriteByte('\\')
			out.WriteByte(c)
		case '/':
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}
