package store_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"agentd/store"
)

func TestKeyFiles(t *testing.T) {
	raw := strings.Repeat("k", 16) + strings.Repeat("\x00\xff", 8)
	digits := hex.EncodeToString([]byte(raw))
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		says string // "" is a key
	}{
		"32 bytes":                      {raw, 0o600, ""},
		"hexadecimal digits":            {digits, 0o600, ""},
		"hexadecimal digits in a line":  {digits + "\n", 0o400, ""},
		"large hexadecimal digits":      {strings.ToUpper(digits) + "\r\n", 0o600, ""},
		"31 bytes":                      {raw[1:], 0o600, "it holds 31 bytes, want 32, or 64 hexadecimal digits"},
		"33 bytes":                      {raw + "\n", 0o600, "it holds 33 bytes"},
		"nothing":                       {"", 0o600, "it holds 0 bytes"},
		"a large file":                  {strings.Repeat(raw, 100), 0o600, "1024 bytes or more"},
		"63 digits":                     {digits[1:], 0o600, "it holds 63 bytes"},
		"64 characters":                 {digits[1:] + "x", 0o600, "aren't all hexadecimal digits"},
		"zeros":                         {strings.Repeat("\x00", 32), 0o600, "all the same is none"},
		"zeros in hexadecimal":          {strings.Repeat("0", 64), 0o600, "all the same is none"},
		"one that everybody can read":   {raw, 0o604, "is open to others (-rw----r--)"},
		"one that the group can read":   {raw, 0o640, "chmod 600"},
		"one that everybody can write":  {raw, 0o602, "is open to others"},
		"one that others could execute": {raw, 0o611, "is open to others"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "key")
			writeFile(t, path, c.text)
			if err := os.Chmod(path, c.mode); err != nil {
				t.Fatal(err)
			}
			k, err := store.ReadKey(path)
			if c.says == "" {
				if err != nil || k == nil {
					t.Errorf("got %v", err)
				}
				return
			}
			told(t, "one who reads it", err, store.ErrKey, c.says)
			if c.text != "" && strings.Contains(err.Error(), c.text) {
				t.Errorf("%q tells what the file holds", err)
			}
		})
	}
}

func TestWhatIsNoKeyFileIsSaidSo(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo") // opening it would wait for ever
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string]string{dir: "is no file", fifo: "is no file", filepath.Join(dir, "none"): "make one with agentd store rekey --make"} {
		_, err := store.ReadKey(path)
		told(t, "one who reads "+path, err, store.ErrKey, says)
	}
}

func TestAKeyFileIsMadeOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "key")
	if _, err := store.MakeKey(path); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o600 || st.Size() != 65 {
		t.Errorf("it is %v, %v", st, err)
	}
	if _, err := store.ReadKey(path); err != nil {
		t.Error(err)
	}
	before := contents(path)
	if _, err := store.MakeKey(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("making it again gives %v", err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if contents(path) != before || err != nil || len(entries) != 1 {
		t.Errorf("afterwards there are %v, %v", entries, err)
	}
}

func TestAKeyIsNotPrinted(t *testing.T) {
	k := someKey(77)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		if text := fmt.Sprintf(verb, k); strings.Contains(text, "77") || strings.Contains(text, "4d") || strings.Contains(text, "M") {
			t.Errorf("%s prints %q", verb, text)
		}
	}
}
