package openai

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/perdure/perdure"
)

// The maximum lengths of identifiers of end users and of prompts, in characters. The limit of the
// parameter `user` is that of Anthropic's API. The other limits are those of OpenAI's API.
const (
	mostUser       = 256
	mostIdentifier = 64
)

// checkHints checks the parameters that are passed on to the model provider, and the limit of tool
// calls.
func (r *request) checkHints() error {
	if r.TopP != nil && (*r.TopP < 0 || *r.TopP > 1) {
		return invalid("top_p", "invalid_value", "Invalid 'top_p': must be from 0 to 1.")
	}
	if r.MaxToolCalls != nil && *r.MaxToolCalls < 1 {
		return invalid("max_tool_calls", "integer_below_min_value", "Invalid 'max_tool_calls': must be at least 1.")
	}
	for _, s := range []struct {
		param string
		value *string
		most  int
	}{
		{"user", r.User, mostUser}, {"safety_identifier", r.SafetyIdentifier, mostIdentifier}, {"prompt_cache_key", r.PromptCacheKey, mostIdentifier},
	} {
		if s.value != nil && utf8.RuneCountInString(*s.value) > s.most {
			return invalid(s.param, "string_above_max_length", "Invalid '%s': has over %d characters.", s.param, s.most)
		}
	}
	return nil
}

// hints returns the parameters that are passed on to the model provider unchanged.
func (r *request) hints() perdure.Hints {
	return perdure.Hints{
		TopP: r.TopP, User: orEmpty(r.User), SafetyIdentifier: orEmpty(r.SafetyIdentifier), PromptCacheKey: orEmpty(r.PromptCacheKey),
		Verbosity: orEmpty(r.Verbosity), ReasoningSummary: orEmpty(r.Summary),
	}
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// efforts maps OpenAI's names of reasoning levels to the names of Perdure.
var efforts = map[string]string{
	"none": "off", "minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh",
}

func parseReasoning(r *request, raw json.RawMessage) error {
	members, err := givenMembers(raw, "reasoning")
	if err != nil {
		return err
	}
	for name, member := range members {
		switch name {
		case "effort":
			err = decode(member, "reasoning.effort", &r.Effort, "a string")
			if err == nil {
				err = oneOf("reasoning.effort", *r.Effort, "none", "minimal", "low", "medium", "high", "xhigh")
			}
		case "summary":
			err = decode(member, "reasoning.summary", &r.Summary, "a string")
			if err == nil {
				err = oneOf("reasoning.summary", *r.Summary, "auto", "concise", "detailed")
			}
		default:
			err = unsupported("reasoning."+name, "leave it out")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func parseText(r *request, raw json.RawMessage) error {
	members, err := givenMembers(raw, "text")
	if err != nil {
		return err
	}
	for name, member := range members {
		switch name {
		case "format":
			err = parseFormat(r, member)
		case "verbosity":
			err = decode(member, "text.verbosity", &r.Verbosity, "a string")
			if err == nil {
				err = oneOf("text.verbosity", *r.Verbosity, "low", "medium", "high")
			}
		default:
			err = unsupported("text."+name, "leave it out")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// givenMembers returns the members of a JSON object, without those whose value is null. The
// parameter `param` names the object in errors.
func givenMembers(raw json.RawMessage, param string) (map[string]json.RawMessage, error) {
	var all map[string]json.RawMessage
	if err := decode(raw, param, &all, "an object"); err != nil {
		return nil, err
	}
	for name, member := range all {
		if !given(member) {
			delete(all, name)
		}
	}
	return all, nil
}

func oneOf(param, value string, values ...string) error {
	if !slices.Contains(values, value) {
		return unsupportedValue(param, "'%s' is none of %s.", value, strings.Join(values, ", "))
	}
	return nil
}
