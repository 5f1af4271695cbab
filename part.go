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
// name. It refuses more than MaxParts parts, and it checks the parts inside tool results, too. The
// error is invalid_argument. If the argument at is "parts", its field name is, for example,
// parts[2].data.
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

// AcceptableParts returns the parts with changes that make CheckParts accept them. In a refused tool
// call of the assistant, it replaces the name with UnnamedTool. It replaces every other refused part
// with a text that says that a part is missing. The result depends only on the parts; if CheckParts
// refuses none, it is the same slice. Tool calls, tool results and thinking keep their positions,
// because other messages and signatures depend on them.
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

// AcceptableResult does the same as AcceptableParts, for the parts of a tool result.
func AcceptableResult(parts []Part) []Part {
	return mendParts(parts, func(p Part) (Part, bool) {
		if checkResultPart("", p) == nil {
			return p, false
		}
		return refused(p), true
	})
}

// mendParts returns the parts after the function mend has been applied to each. mend reports whether it
// has changed the part. If no part changes, the result is the same slice.
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

// refused returns the text part that replaces a part that no provider accepts.
func refused(p Part) Part {
	if p.Type == PartImage && p.URL == "" {
		return Text("(an image stood here that cannot be shown: its data is no valid png, jpeg, gif or webp)")
	}
	return Text(fmt.Sprintf("(a part of type %s stood here that cannot be shown)", clip(string(p.Type))))
}

// BoundedParts limits the number of parts of a message to MaxParts. In a user or system message, it
// limits the parts of the message; in a message with another role, the parts inside each tool result.
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

// BoundedResult does the same as BoundedParts, for the parts of a tool result.
func BoundedResult(parts []Part) []Part {
	if len(parts) <= MaxParts {
		return parts
	}
	const kept = MaxParts - 1
	return append(slices.Clone(parts[:kept]), Text(fmt.Sprintf("(%d more parts stood here)", len(parts)-kept)))
}
