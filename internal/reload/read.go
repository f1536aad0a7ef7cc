package reload

import (
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"time"
)

// reading is one look at everything.
type reading struct {
	Snapshot
	found   []found  // one a file of the snapshot
	listed  []found  // the folders that were looked into
	folders []string // real paths to watch, sorted; also there when the rest isn't
	began   time.Time
	ended   time.Time
}

// same reports that two looks saw the same texts in the same, untouched files.
func (r reading) same(s reading) bool {
	return r.Hash == s.Hash && slices.EqualFunc(r.found, s.found, found.same)
}

// sameFolders reports that nothing was made, removed or renamed between two looks, not even to and fro.
func (r reading) sameFolders(s reading) bool {
	return slices.EqualFunc(r.listed, s.listed, found.same)
}

// attempts is how often files that change under the eye are read again at once. Whoever wants to wait
// for them can do better than that.
const attempts = 4

// read lists the files, reads them and lists them again. Only if nothing differs it is one set: the
// files that were read first can't have changed while the last ones were read.
func read(roots []Root) (reading, error) {
	r := reading{began: time.Now()}
	defer func() { r.ended = time.Now() }()
	before, err := walk(roots)
	for range attempts {
		r.folders = sortedKeys(before.folders)
		if err != nil {
			return r, err
		}
		files, whole, err := readAll(roots, before.files)
		if err != nil {
			return r, err
		}
		after, walkErr := walk(roots)
		if whole && walkErr == nil && slices.EqualFunc(before.files, after.files, found.same) {
			r.Files, r.Hash = files, hashFiles(files)
			r.found, r.listed = before.files, before.listed
			r.ended = time.Now()
			return r, nil
		}
		if before = after; walkErr != nil {
			r.folders = sortedKeys(before.folders)
			return r, walkErr
		}
	}
	return r, fmt.Errorf("%w, %d times in a row; read them again when the writer is done", ErrChanging, attempts)
}

// readAll is whole if each file was still the one that was found.
func readAll(roots []Root, list []found) (files []File, whole bool, err error) {
	total := 0
	files = make([]File, 0, len(list))
	for _, f := range list {
		text, same, err := readFile(f)
		if err != nil {
			if gone(err) {
				return nil, false, nil
			}
			return nil, false, err
		}
		if !same {
			return nil, false, nil
		}
		if total += len(text); total > MaxTotal {
			return nil, false, fault(ErrTooLarge, roots[f.root], f.name, fmt.Sprintf(": with it the files have more than %d bytes together", MaxTotal))
		}
		files = append(files, File{f.root, f.name, text, hashText(text)})
	}
	return files, true, nil
}

// readFile opens without blocking: a pipe could have taken the file's place.
func readFile(f found) (text []byte, same bool, err error) {
	file, err := os.OpenFile(f.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, false, err
	}
	if !f.same(found{f.root, f.name, f.path, info}) || !info.Mode().IsRegular() {
		return nil, false, nil
	}
	text = make([]byte, info.Size())
	if _, err := io.ReadFull(file, text); err != nil {
		return nil, false, nil // shorter than it was a moment ago
	}
	return text, true, nil
}

func sortedKeys(m map[string]bool) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
