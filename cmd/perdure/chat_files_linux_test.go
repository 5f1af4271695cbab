package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
)

// rowsOf returns rows of the screen, whose content is `text`: from the row that begins with `begin`
// up to the next empty row.
func rowsOf(text, begin string) []string {
	_, after, _ := strings.Cut("\n"+text, "\n"+begin)
	block, _, _ := strings.Cut(begin+after, "\n\n")
	return strings.Split(block, "\n")
}

// TestChatSendsImages checks that an image that a message names by its path, with or without @, is sent
// to the model.
func TestChatSendsImages(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, width := range []int{80, 120} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "s", "turn\n  text A square.\n")
			var picture, bare bytes.Buffer
			for _, err := range []error{png.Encode(&picture, image.NewGray(image.Rect(0, 0, 2, 2))), png.Encode(&bare, image.NewGray(image.Rect(0, 0, 3, 3)))} {
				if err != nil {
					t.Fatal(err)
				}
			}
			write(t, dir, "picture.png", picture.String())
			write(t, dir, "bare.png", bare.String())
			s := onScreen(t, dir, width, "chat", "--model", "scripted/s")
			s.ready()
			s.enter("see @missing.png")
			s.until("the refusal", func(text string) bool {
				said := strings.Join(strings.Fields(text), " ")
				return strings.Contains(said, "the image was not read, and the message was not sent: ") && strings.HasSuffix(strings.Split(said, " ›")[0], "no such file or directory")
			})
			s.keys("what is on @pict")
			s.shows("→ @picture.png\n")
			s.keys(keyTab)
			s.shows("› what is on @picture.png\n")
			s.keys("and what in bare.png is different from it? Please say it in a sentence or two, with all that you can see in it")
			s.shows("you can see in it\n")
			s.keys(keyEnter)
			text := s.shows("A square.")
			s.ready()
			said := rowsOf(text, "› what is on")
			for _, row := range said {
				if !strings.HasPrefix(row, "› ") {
					t.Errorf("the row %q of the message has no gutter:\n%s", row, text)
				}
			}
			if len(said) < 2 {
				t.Errorf("the message is not wrapped: %q", said)
			}
			var run struct{ Entries []perdure.Entry }
			if err := json.Unmarshal([]byte(outputOf(t, dir, "show", "last", "--json")), &run); err != nil || len(run.Entries) == 0 {
				t.Fatalf("the run has %d entries, %v", len(run.Entries), err)
			}
			m, err := run.Entries[0].Message()
			if err != nil || len(m.Content.Parts) != 3 {
				t.Fatalf("the message is %+v, %v", m, err)
			}
			sent := outputOf(t, dir, "show", "last", "--call", "last", "--as", "anthropic")
			for i, want := range []bytes.Buffer{picture, bare} {
				data := base64.StdEncoding.EncodeToString(want.Bytes())
				if part := m.Content.Parts[i+1]; part.MimeType != "image/png" || part.Data != data {
					t.Errorf("part %d of the message is %+v", i+1, part)
				}
				if strings.Count(sent, data) != 1 {
					t.Errorf("image %d is not sent once:\n%s", i, sent)
				}
			}
			s.keys(keyCtrlD)
			s.ends(4)
		})
	}
}

// TestChatInstructionsAndPlan checks that AGENTS.md of the workspace is part of the system prompt,
// unless --no-agents-md leaves it out. With --plan the model gets only tools that change nothing.
func TestChatInstructionsAndPlan(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, width := range []int{80, 120} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "s", "turn\n  text First.\n")
			write(t, dir, "AGENTS.md", "Use tabs.\n")
			for _, c := range []struct {
				flag     string
				tools    []string
				has, not []string
			}{
				{"--plan", []string{"read-file", "grep", "find"}, []string{"Use tabs.", "Work out a plan"}, nil},
				{"--no-agents-md", []string{"read-file", "write-file", "edit-file", "bash", "grep", "find"}, nil, []string{"Use tabs.", "Work out a plan"}},
			} {
				s := onScreen(t, dir, width, "chat", "--model", "scripted/s", c.flag, "--approve", "allow", "--confine", "off")
				s.ready()
				s.enter("go")
				s.shows("First.")
				text := s.ready()
				if got := strings.Contains(text, "perdure: AGENTS.md is part of the system prompt (--no-agents-md leaves it out)\n"); got != (c.has != nil) {
					t.Errorf("%s: the screen says of AGENTS.md: %v\n%s", c.flag, got, text)
				}
				s.enter("/tools")
				s.showsWords("the model may use: " + strings.Join(c.tools, ", "))
				var sent struct {
					System json.RawMessage
					Tools  []struct{ Name string }
				}
				if err := json.Unmarshal([]byte(outputOf(t, dir, "show", "last", "--call", "last", "--as", "anthropic")), &sent); err != nil {
					t.Fatal(err)
				}
				names := []string{}
				for _, tool := range sent.Tools {
					names = append(names, tool.Name)
				}
				if !slices.Equal(names, c.tools) {
					t.Errorf("%s: the request offers %v", c.flag, names)
				}
				for _, want := range c.has {
					if !strings.Contains(string(sent.System), want) {
						t.Errorf("%s: the system prompt has no %q: %s", c.flag, want, sent.System)
					}
				}
				for _, not := range c.not {
					if strings.Contains(string(sent.System), not) {
						t.Errorf("%s: the system prompt has %q: %s", c.flag, not, sent.System)
					}
				}
				s.keys(keyCtrlD)
				s.ends(4)
			}
		})
	}
}
