package tool

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"agentd/hookpoints/payload"
)

const (
	maxMatches     = 500
	maxMatchBytes  = 256 << 10 // of all matching lines together
	maxLineShown   = 500       // bytes of a matching line
	maxSearched    = 8 << 20   // larger files are passed over
	maxPatternSize = 2000
)

type searchFiles struct{ ws *workspace }

func (t *searchFiles) Spec() Spec {
	return Spec{
		Name: "search_files", ID: "search_files", Kind: KindSearch, ReadOnly: true, Idempotent: true,
		Description: "Finds the lines of the workspace's text files that match a regular expression (RE2 syntax). What is inside .git isn't searched.",
		Parameters: parameters(1,
			stringParam("pattern", "the regular expression; (?i) at its beginning ignores case", integer("minLength", 1), integer("maxLength", maxPatternSize)),
			stringParam("path", "a folder or file to search; default the whole workspace"),
			stringParam("glob", "only files with such a name, like *.go, or such a path below the folder, like src/**/*.{js,ts}", integer("maxLength", maxPatternSize))),
	}
}

// Call gives {matches: [{path, line, text}], files} where files counts the searched ones, and, if
// something was left out, cut and note.
func (t *searchFiles) Call(ctx context.Context, call Invocation) Result {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	re, err := regexp.Compile(call.Arguments.Get("pattern").Text())
	if err != nil {
		return failure(Failed, fmt.Errorf("the pattern is no regular expression: %w", err))
	}
	wanted := func(string) bool { return true }
	if g := call.Arguments.Get("glob"); g.Exists() && g.Text() != "" {
		if wanted, err = glob(g.Text()); err != nil {
			return failure(Failed, err)
		}
	}
	given := "."
	if p := call.Arguments.Get("path"); p.Exists() {
		given = p.Text()
	}
	real, err := t.ws.resolveToRead(given)
	if err != nil {
		return failure(Failed, err)
	}
	s := search{ws: t.ws, re: re, matches: []payload.Value{}}
	err = t.ws.walk(ctx, real, func(name string, d fs.DirEntry, _ int) error {
		switch {
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case !d.Type().IsRegular() || !wanted(name):
			return nil
		}
		return s.file(ctx, path.Join(real, name))
	})
	if errors.As(err, &errNotFolder{}) {
		err = s.file(ctx, real)
	}
	switch {
	case ctx.Err() != nil:
		return ended(ctx)
	case err != nil && err != fs.SkipAll:
		return failure(Failed, err)
	}
	return success(s.fields()...)
}

type search struct {
	ws      *workspace
	re      *regexp.Regexp
	matches []payload.Value
	files   int64
	bytes   int
	large   []string // files that were passed over
	cut     bool
}

// file searches one file; fs.SkipAll says that there is no room for more matches.
func (s *search) file(ctx context.Context, real string) error {
	f, info, err := s.ws.openFile(real)
	if err != nil {
		return nil // unreadable, or gone since it was listed
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	if head, _ := in.Peek(8 << 10); bytes.IndexByte(head, 0) >= 0 {
		return nil
	}
	if info.Size() > maxSearched {
		s.large = append(s.large, real)
		return nil
	}
	s.files++
	for line := int64(1); ; line++ {
		found, _, _ := takeLine(in, maxSearched)
		if len(found) == 0 {
			return nil // its end, or as far as it can be read
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if found = bytes.TrimRight(found, "\r\n"); !s.re.Match(found) {
			continue
		}
		if !s.add(real, line, found) {
			s.cut = true
			return fs.SkipAll
		}
	}
}

func (s *search) add(real string, line int64, found []byte) bool {
	shown := found
	if len(shown) > maxLineShown {
		shown = shown[:maxLineShown]
		for len(shown) > 0 && !utf8.RuneStart(found[len(shown)]) {
			shown = shown[:len(shown)-1]
		}
	}
	s.bytes += len(shown)
	if len(s.matches) == maxMatches || s.bytes > maxMatchBytes {
		return false
	}
	t := strings.ToValidUTF8(string(shown), "\uFFFD")
	if len(shown) < len(found) {
		t += " ..."
	}
	s.matches = append(s.matches, object(text("path", real), integer("line", line), text("text", t)))
	return true
}

func (s *search) fields() []payload.Field {
	out := []payload.Field{{Name: "matches", Value: payload.NewArray(s.matches)}, integer("files", s.files)}
	var notes []string
	if s.cut {
		notes = append(notes, "there are more matches: search for something rarer, or in a smaller folder")
	}
	if n := len(s.large); n > 0 {
		notes = append(notes, fmt.Sprintf("%d files larger than %d MiB weren't searched, %s first", n, maxSearched>>20, s.large[0]))
	}
	if notes != nil {
		out = append(out, flag("cut", true), text("note", strings.Join(notes, "; ")))
	}
	return out
}
