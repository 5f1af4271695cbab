package llm

import (
	"encoding/base64"
	"strings"

	"github.com/perdure/perdure"
)

const (
	// unknownFile is the assumed number of tokens of a file whose content is not in the message.
	unknownFile = UnknownImage
	// bytesOfFile is the assumed number of bytes per token in a file that is not text, such as a
	// PDF. It assumes that a PDF page has about 50 KiB and 2,000 tokens.
	bytesOfFile = 25
)

// Estimate returns the approximate number of tokens of a prompt. It is the sum of EstimateHead and
// of EstimateMessage for each message.
func Estimate(system string, tools []ToolSpec, messages []perdure.Message, l Limits) int {
	sum := EstimateHead(system, tools)
	for _, m := range messages {
		sum += EstimateMessage(m, l)
	}
	return sum
}

// EstimateHead returns the approximate number of tokens of the system prompt and the tools.
func EstimateHead(system string, tools []ToolSpec) int {
	bytes := len(system)
	for _, t := range tools {
		bytes += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return tokensOf(bytes)
}

// EstimateMessage returns the approximate number of tokens of a message. It is the number of bytes
// of text divided by 3.5, rounded up, plus the tokens of images and files. For a tool call, name
// and arguments are counted. Thinking is counted only if it has a signature, because other thinking
// is not sent back. The estimate depends only on the message and the limits.
func EstimateMessage(m perdure.Message, l Limits) int {
	bytes, media := 0, 0
	for _, p := range m.Parts {
		b, t := estimatePart(p, l)
		bytes, media = bytes+b, media+t
	}
	return tokensOf(bytes) + media
}

// tokensOf returns the approximate number of tokens of a text with this number of bytes.
func tokensOf(bytes int) int { return (2*bytes + 6) / 7 }

// estimatePart returns the number of bytes of the part's text, or the approximate number of tokens
// if the part is an image or a file.
func estimatePart(p perdure.Part, l Limits) (bytes, media int) {
	switch p.Type {
	case perdure.PartText:
		return len(p.Text), 0
	case perdure.PartCompaction:
		return len(perdure.SummaryPrefix) + len(p.Text), 0
	case perdure.PartThinking:
		if p.ThinkingSignature == "" {
			return 0, 0
		}
		// The signature may contain the whole reasoning; the text may be only a summary.
		return max(len(p.Thinking), len(p.ThinkingSignature)), 0
	case perdure.PartImage:
		return 0, l.ImageTokens.tokens(p)
	case perdure.PartFile:
		return estimateFile(p)
	case perdure.PartToolCall:
		arguments := max(len(p.RawArguments), len(p.Arguments))
		return len(p.Name) + arguments, 0
	case perdure.PartToolResult:
		for _, inner := range p.Parts {
			b, t := estimatePart(inner, l)
			bytes, media = bytes+b, media+t
		}
	}
	return bytes, media
}

func estimateFile(p perdure.Part) (bytes, media int) {
	size := base64.StdEncoding.DecodedLen(len(p.Data))
	switch {
	case p.Data == "":
		return 0, unknownFile
	case strings.HasPrefix(p.MimeType, "text/"):
		return size, 0
	}
	return 0, max(unknownFile, size/bytesOfFile)
}
