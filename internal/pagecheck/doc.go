// Package pagecheck looks for damage in the pages of a SQLite file, piece by piece.
//
// PRAGMA quick_check reads a file in one transaction. While it runs, the write-ahead
// log cannot be started again, and grows by what is written meanwhile. Here each piece
// is a transaction of its own, and the caller pauses between two.
//
// What a page holds is known from the pointer map, which a file with auto_vacuum has.
// A page is checked by the rules of the file format (https://sqlite.org/fileformat2.html):
// its header, cells, free blocks and the headers of its records; and that the pages
// that it points to are noted in the map as its own. The order of keys over several
// pages and what indexes hold is left to PRAGMA integrity_check.
package pagecheck
