package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Check returns an error for each rule of the wire's API that a request breaks. The rules are
// about the ids of calls, the places of their results, the order of roles, the names of tools,
// images and files, and empty contents.
func (w Wire) Check(raw []byte) error {
	var body obj
	if err := json.Unmarshal(raw, &body); err != nil {
		return fmt.Errorf("the request is no JSON: %w", err)
	}
	c := &checker{ids: map[string]bool{}}
	w.rules(c, body)
	return errors.Join(c.faults...)
}

// checker collects the faults of a request.
type checker struct {
	faults []error
	at     string          // the current position
	ids    map[string]bool // of the calls so far
	anyID  bool            // any form of id is valid
}

func (c *checker) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Errorf(c.at+": "+format, args...))
}

func (c *checker) want(ok bool, format string, args ...any) {
	if !ok {
		c.fault(format, args...)
	}
}

// call checks a call's id: it consists of letters, digits, "_" and "-", has at most the given
// length (0: no limit), and is unique.
func (c *checker) call(id string, most int) {
	form := id
	if c.anyID {
		form, most = "", 256
	}
	c.want(id != "" && (most == 0 || len(id) <= most), "the call's id %q is empty or too long", id)
	for _, r := range form {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", r) {
			c.fault("the call's id %q has a character that is not taken", id)
		}
	}
	c.want(!c.ids[id], "two calls have the id %q", id)
	c.ids[id] = true
}

// answered checks that results answer exactly the calls before them.
func (c *checker) answered(calls, results []string) {
	open := map[string]bool{}
	for _, id := range calls {
		open[id] = true
	}
	for _, id := range results {
		c.want(open[id], "a result answers %q, which is no open call before it", id)
		delete(open, id)
	}
	for id := range open {
		c.fault("call %q has no result", id)
	}
}

func (c *checker) text(v any) {
	text, ok := v.(string)
	c.want(ok && strings.TrimSpace(text) != "", "a text is %q", v)
}

func list(v any) []obj {
	items, _ := v.([]any)
	all := make([]obj, 0, len(items))
	for _, item := range items {
		o, _ := item.(obj)
		all = append(all, o)
	}
	return all
}

func str(v any) string {
	s, _ := v.(string)
	return s
}

func isObject(v any) bool {
	_, ok := v.(obj)
	return ok
}
