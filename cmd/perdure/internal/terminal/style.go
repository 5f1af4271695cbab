package terminal

import (
	"charm.land/lipgloss/v2"
)

// Style is the style of a text in a terminal.
type Style int

const (
	StyleNone Style = iota
	StyleDim
	StyleTool
	StyleUser
	StyleGood
	StyleWarn
	StyleError
	StyleAdded
	StyleRemoved
)

var styles = map[Style]lipgloss.Style{
	StyleDim:     lipgloss.NewStyle().Faint(true),
	StyleTool:    lipgloss.NewStyle().Foreground(lipgloss.Cyan).Bold(true),
	StyleUser:    lipgloss.NewStyle().Foreground(lipgloss.Blue).Bold(true),
	StyleGood:    lipgloss.NewStyle().Foreground(lipgloss.Green),
	StyleWarn:    lipgloss.NewStyle().Foreground(lipgloss.Yellow),
	StyleError:   lipgloss.NewStyle().Foreground(lipgloss.Red),
	StyleAdded:   lipgloss.NewStyle().Foreground(lipgloss.Green),
	StyleRemoved: lipgloss.NewStyle().Foreground(lipgloss.Red),
}
