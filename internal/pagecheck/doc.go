// Package pagecheck looks for damage in the pages of a SQLite file, piece by piece.
//
// PRAGMA quick_check reads a file in one transaction. During this transaction, the write-ahead log
// cannot be reset, and grows with each write. In this package each piece is a separate transaction,
// and the caller can pause between two pieces.
//
// A file with auto_vacuum has a pointer map, which contains the type and the parent of each page.
// The package checks each page by the rules of the file format
// (https://sqlite.org/fileformat2.html): the header, the cells, the free blocks and the headers of
// the records. If a page points to another page, the pointer map must name the first page as the
// parent of the second. The package does not check the order of keys over several pages, nor
// whether indexes match their tables; PRAGMA integrity_check does that.
package pagecheck
