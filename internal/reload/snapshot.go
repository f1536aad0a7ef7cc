package reload

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// File is one file of a set. Its text must not be changed.
type File struct {
	Root int    // index of the root that it was found under
	Name string // path below the root, with forward slashes
	Text []byte
	Hash string // SHA-256 of Text, "sha256:" before it
}

// Snapshot is a whole set of files, sorted by root and name.
type Snapshot struct {
	Files []File
	Hash  string // over the roots' indexes, the names and the texts, "sha256:" before it
}

// Under returns the files of one root.
func (s Snapshot) Under(root int) []File {
	var out []File
	for _, f := range s.Files {
		if f.Root == root {
			out = append(out, f)
		}
	}
	return out
}

func hashText(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// hashFiles is unambiguous because names hold no NUL.
func hashFiles(files []File) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%d\x00%s\x00%s\x00", f.Root, f.Name, f.Hash)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
