package perdure

import (
	"fmt"
	"slices"
	"strings"
)

var partsOfRole = map[Role][]PartType{
	RoleSystem:     {PartText},
	RoleUser:       {PartText, PartImage, PartFile, PartCompaction},
	RoleAssistant:  {PartText, PartThinking, PartImage, PartToolCall},
	RoleToolResult: {PartToolResult},
}

// TakesPart reports whether a message with this role may have parts of the type t.
func TakesPart(role Role, t PartType) bool { return slices.Contains(partsOfRole[role], t) }

// partsOfResult are the types of parts that a tool result may have.
var partsOfResult = []PartType{PartText, PartImage, PartFile}

// UnnamedTool is the stored name for a tool call that a model made without a tool name. No real tool
// has this name.
const UnnamedTool = "unnamed_tool"

// CheckParts refuses parts that a message with this role cannot have, or that no provider accepts.
// Examples are a part of an unknown type, an image without valid data, and a tool call without a
// name. It also checks the parts inside tool results, and refuses more than MaxParts parts. The
// error is invalid_argument. The parameter `at` is the path of the list in the error: with "parts",
// the error names, for example, parts[2].data.
func CheckParts(role Role, at string, parts []Part) error {
	if len(parts) > MaxParts {
		return tooManyParts(at, parts)
	}
	for i, p := range parts {
		here := fmt.Sprintf("%s[%d]", at, i)
		if err := checkPart(role, here, p); err != nil {
			return err
		}
		if p.Type == PartCompaction && len(parts) > 1 {
			return FieldErrorf(here+".type", "is compaction, which is the only part of its message")
		}
	}
	return nil
}

func checkPart(role Role, at string, p Part) error {
	if !TakesPart(role, p.Type) {
		return FieldErrorf(at+".type", "is %s, which a message of the role %s does not take; it takes %s",
			clip(string(p.Type)), role, listed(partsOfRole[role]))
	}
	switch p.Type {
	case PartImage:
		return checkImage(at, p)
	case PartFile:
		return checkFile(at, p)
	case PartToolCall:
		if p.Name == "" {
			return FieldErrorf(at+".name", "is missing: a tool call names its tool")
		}
	case PartCompaction:
		if strings.TrimSpace(p.Text) == "" {
			return FieldErrorf(at+".text", "is blank: a compaction has a summary")
		}
	case PartToolResult:
		return checkResultParts(at+".parts", p.Parts)
	}
	return nil
}

func tooManyParts(at string, parts []Part) error {
	return FieldErrorf(at, "has %d parts; the limit is %d", len(parts), MaxParts)
}

func checkResultParts(at string, parts []Part) error {
	if len(parts) > MaxParts {
		return tooManyParts(at, parts)
	}
	for i, p := range parts {
		if err := checkResultPart(fmt.Sprintf("%s[%d]", at, i), p); err != nil {
			return err
		}
	}
	return nil
}

func checkResultPart(at string, p Part) error {
	switch {
	case !slices.Contains(partsOfResult, p.Type):
		return FieldErrorf(at+".type", "is %s; a tool result takes %s", clip(string(p.Type)), listed(partsOfResult))
	case p.Type == PartImage:
		return checkImage(at, p)
	case p.Type == PartFile:
		return checkFile(at, p)
	}
	return nil
}

func listed(types []PartType) string {
	text := ""
	for i, t := range types {
		if i > 0 {
			text += ", "
		}
		text += string(t)
	}
	return text
}

// AcceptableParts changes the parts that CheckParts refuses, so that CheckParts accepts them. A
// refused tool call of the assistant gets the name UnnamedTool. Any other refused part becomes a
// text that says that a part is missing. If no part is refused, the result is the same slice. The
// positions of the parts do not change, because other messages and signatures depend on them.
func AcceptableParts(role Role, parts []Part) []Part {
	return mendParts(parts, func(p Part) (Part, bool) {
		if p.Type == PartToolResult && role == RoleToolResult {
			inner := AcceptableResult(p.Parts)
			changed := len(inner) > 0 && &inner[0] != &p.Parts[0]
			p.Parts = inner
			return p, changed
		}
		err := checkPart(role, "", p)
		switch {
		case err == nil && p.Type == PartCompaction && len(parts) > 1:
			return Text(SummaryPrefix + p.Text), true
		case err == nil:
			return p, false
		case p.Type == PartToolCall && role == RoleAssistant:
			p.Name = UnnamedTool
			return p, true
		}
		return refused(p), true
	})
}

// AcceptableResult is AcceptableParts for the parts of a tool result.
func AcceptableResult(parts []Part) []Part {
	return mendParts(parts, func(p Part) (Part, bool) {
		if checkResultPart("", p) == nil {
			return p, false
		}
		return refused(p), true
	})
}

// mendParts applies the function `mend` to each part. The bool that `mend` returns says whether it
// has changed the part. If no part changes, mendParts returns the same slice.
func mendParts(parts []Part, mend func(Part) (Part, bool)) []Part {
	out := parts
	for i, p := range parts {
		mended, changed := mend(p)
		if !changed {
			continue
		}
		if &out[0] == &parts[0] {
			out = slices.Clone(parts)
		}
		out[i] = mended
	}
	return out
}

// refused returns the text part that takes the place of a part that no provider accepts.
func refused(p Part) Part {
	if p.Type == PartImage && p.URL == "" {
		return Text("(an image stood here that cannot be shown: its data is no valid png, jpeg, gif or webp)")
	}
	return Text(fmt.Sprintf("(a part of type %s stood here that cannot be shown)", clip(string(p.Type))))
}

// BoundedParts limits the number of parts of a message to MaxParts. In a user or system message, it
// limits the parts of the message. In other messages, it limits the parts inside each tool result.
// One text part replaces the parts over the limit.
func BoundedParts(role Role, parts []Part) []Part {
	if role == RoleUser || role == RoleSystem {
		return BoundedResult(parts)
	}
	return mendParts(parts, func(p Part) (Part, bool) {
		if len(p.Parts) <= MaxParts {
			return p, false
		}
		p.Parts = BoundedResult(p.Parts)
		return p, true
	})
}

// BoundedResult is BoundedParts for the parts of a tool result.
func BoundedResult(parts []Part) []Part {
	if len(parts) <= MaxParts {
		return parts
	}
	const kept = MaxParts - 1
	return append(slices.Clone(parts[:kept]), Text(fmt.Sprintf("(%d more parts stood here)", len(parts)-kept)))
}
