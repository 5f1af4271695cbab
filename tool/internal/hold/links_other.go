//go:build !linux

package hold

import "io/fs"

func linksOf(fs.FileInfo) uint64 { return 1 }

func (*File) names() uint64 { return 1 }

func (h *File) name() string { return h.at }
