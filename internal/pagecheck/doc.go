// Package pagecheck looks for damage in the pages of a SQLite file, piece by piece.
//
// PRAGMA quick_check reads a file in one transaction. While it runs, the write-ahead log cannot be
// reset, and grows with each write. In this package each piece is a transaction of its own, and the
// caller can pause between two pieces.
//
// The pointer map of a file with auto_vacuum contains the type of each page. A page is checked by
// the rules of the file format (https://sqlite.org/fileformat2.html): its header, cells, free
// blocks and the headers of its records. The pages that it points to must have it as their parent
// in the map. The order of keys over several pages and the contents of indexes are not checked;
// PRAGMA integrity_check does that.
package pagecheck
