//go:build !linux

package tool

import "io/fs"

func linksOf(fs.FileInfo) uint64 { return 1 }

func (*held) names() uint64 { return 1 }

func (h *held) name() string { return h.at }
