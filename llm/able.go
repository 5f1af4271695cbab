package llm

import (
	"slices"

	"github.com/perdure/perdure"
)

// Ability is a feature of a request that not every provider supports.
type Ability string

// AbleToChooseTools and the constants below it are the abilities that a provider can declare.
const (
	AbleToChooseTools Ability = "tool_choice"
	AbleToCallOneTool Ability = "parallel_tool_calls"
	AbleToFormat      Ability = "text.format" // text in JSON that fits a schema
	AbleToSayObject   Ability = "text.format without a schema"
)

// Able is a provider that declares its abilities. A provider that is not Able has none of them.
type Able interface {
	Abilities() []Ability
}

// Can reports whether a provider has the ability.
func Can(p Provider, ability Ability) bool {
	able, ok := p.(Able)
	return ok && slices.Contains(able.Abilities(), ability)
}

// CheckRequest refuses a request that must not be sent to the provider's server, for one of two
// reasons:
//
//   - The request needs an ability that the provider lacks. The provider would ignore a part of the
//     request.
//   - The messages break a rule of CheckMessages, and the provider does not correct the messages
//     when it converts them. The server would refuse the messages.
//
// The error is an *Error that is not retryable. For a broken rule, the error has the kind
// RuleBroken and wraps the *RuleError.
func CheckRequest(p Provider, req Request) error {
	for _, asked := range []struct {
		ability Ability
		is      bool
	}{
		{AbleToChooseTools, req.ToolChoice != "" && req.ToolChoice != perdure.ToolChoiceAuto},
		{AbleToCallOneTool, req.ParallelToolCalls != nil},
		{AbleToFormat, req.Format != nil && req.Format.Schema != nil},
		{AbleToSayObject, req.Format != nil && req.Format.Schema == nil},
	} {
		if asked.is && !Can(p, asked.ability) {
			return &Error{Kind: InvalidRequest, Provider: p.Name(), Message: "the provider does not take " + string(asked.ability)}
		}
	}
	if err := checkRules(p, req.Messages, true); err != nil {
		return &Error{Kind: RuleBroken, Provider: p.Name(), Message: err.Error(), Err: err}
	}
	return nil
}
