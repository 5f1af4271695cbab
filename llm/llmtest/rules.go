package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Check returns an error for each rule of the API that the request breaks. The rules are about ids of
// tool calls, positions of their results, the order of roles, names of tools, images and files, and
// empty contents.
func (w Wire) Check(raw []byte) error {
	var body obj
	if err := json.Unmarshal(raw, &body); err != nil {
		return fmt.Errorf("the request is no JSON: %w", err)
	}
	c := &checker{ids: map[string]bool{}}
	w.rules(c, body)
	return errors.Join(c.faults...)
}

// checker collects the broken rules of one request.
type checker struct {
	faults []error
	at     string          // position in the request, for messages
	ids    map[string]bool // ids of the tool calls so far
	anyID  bool            // whether ids of any form are valid
}

func (c *checker) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Errorf(c.at+": "+format, args...))
}

func (c *checker) want(ok bool, format string, args ...any) {
	if !ok {
		c.fault(format, args...)
	}
}

// call checks the id of a tool call. The id consists of letters, digits, "_" and "-", has at most
// `limit` characters (0 means no limit), and is unique.
func (c *checker) call(id string, limit int) {
	form := id
	if c.anyID {
		form, limit = "", 256
	}
	c.want(id != "" && (limit == 0 || len(id) <= limit), "the call's id %q is empty or too long", id)
	for _, r := range form {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", r) {
			c.fault("the call's id %q has a character that is not taken", id)
		}
	}
	c.want(!c.ids[id], "two calls have the id %q", id)
	c.ids[id] = true
}

// answered checks that each of the tool calls has exactly one result.
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
