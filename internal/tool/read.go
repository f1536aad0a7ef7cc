package tool

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"agentd/hookpoints/payload"
)

const (
	maxRead  = 256 << 10 // bytes of a file that one call shows
	allLines = 1 << 40
)

var errBinary = errors.New("it isn't text")

type readFile struct{ ws *workspace }

func (t *readFile) Spec() Spec {
	return Spec{
		Name: "read_file", ID: "read_file", Kind: KindRead, ReadOnly: true, Idempotent: true,
		Description: "Reads a text file of the workspace. A long file comes in parts: the result then says at which line the next part begins.",
		Parameters: parameters(1,
			stringParam("path", "the file, relative to the workspace"),
			integerParam("offset", "the first line to read, counted from 1; default 1", atLeast(1)),
			integerParam("limit", "how many lines to read; default all", atLeast(1))),
	}
}

// Call gives {path, content, first_line, last_line} and, if more follows, next_offset and note.
func (t *readFile) Call(ctx context.Context, call Invocation) Result {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	real, err := t.ws.resolveToRead(call.Arguments.Get("path").Text())
	if err != nil {
		return failure(Failed, err)
	}
	f, _, err := t.ws.openFile(real)
	if err != nil {
		return failure(Failed, err)
	}
	defer f.Close()
	part, err := readLines(ctx, f, intArgument(call.Arguments, "offset", 1), intArgument(call.Arguments, "limit", allLines))
	switch {
	case ctx.Err() != nil:
		return ended(ctx)
	case err != nil:
		return failure(Failed, fmt.Errorf("%s can't be read: %w", real, err))
	}
	fields := []payload.Field{
		text("path", real), text("content", part.text),
		integer("first_line", part.first), integer("last_line", part.last),
	}
	if part.more {
		fields = append(fields, integer("next_offset", part.last+1))
	}
	if note := part.note(); note != "" {
		fields = append(fields, text("note", note))
	}
	return success(fields...)
}

// part is some lines of a file. If there are none, last is first-1.
type part struct {
	text        string
	first, last int64
	more        bool // lines follow
	long        bool // the last line is longer than what is shown of it
	invalid     bool // bytes that are no UTF-8 were replaced
}

func (p part) note() string {
	var out []string
	if p.long {
		out = append(out, fmt.Sprintf("line %d is cut after %d KiB", p.last, maxRead>>10))
	}
	if p.more {
		out = append(out, fmt.Sprintf("the file goes on: read on with offset %d", p.last+1))
	}
	if p.invalid {
		out = append(out, "the file isn't UTF-8: the bytes that aren't are shown as \uFFFD")
	}
	return strings.Join(out, "; ")
}

// readLines reads count lines from line first on, as far as they fit.
func readLines(ctx context.Context, r io.Reader, first, count int64) (part, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	if head, _ := in.Peek(8 << 10); bytes.IndexByte(head, 0) >= 0 {
		return part{}, errBinary
	}
	for at := int64(1); at < first; at++ {
		if err := skipLine(ctx, in); err == io.EOF {
			return part{}, fmt.Errorf("it has only %d lines", at-1)
		} else if err != nil {
			return part{}, err
		}
	}
	p := part{first: first, last: first - 1}
	var out []byte
	for p.last < first+count-1 {
		line, long, err := takeLine(in, maxRead-len(out))
		if err != nil && err != io.EOF {
			return p, err
		}
		if long && len(out) > 0 {
			p.more = true // the line is left for the next part
			break
		}
		if len(line) == 0 {
			break
		}
		out = append(out, line...)
		p.last++
		if long {
			p.long = true
			if err := skipLine(ctx, in); err != nil && err != io.EOF {
				return p, err
			}
			break
		}
		if ctx.Err() != nil {
			return p, ctx.Err()
		}
	}
	switch {
	case bytes.IndexByte(out, 0) >= 0:
		return p, errBinary
	case first > 1 && p.last < first:
		return p, fmt.Errorf("it has only %d lines", p.last)
	}
	if _, err := in.Peek(1); err == nil {
		p.more = true
	}
	p.invalid = !utf8.Valid(out)
	p.text = strings.ToValidUTF8(string(out), "\uFFFD")
	return p, nil
}

// takeLine reads a line with its end. Of a line longer than room it gives the beginning, cut between
// characters; the rest is still to be read.
func takeLine(in *bufio.Reader, room int) (line []byte, long bool, err error) {
	for {
		piece, err := in.ReadSlice('\n')
		if len(line)+len(piece) > room {
			line = append(line, piece[:room-len(line)]...)
			for cut := 1; cut < utf8.UTFMax && cut <= len(line); cut++ {
				if tail := line[len(line)-cut:]; utf8.RuneStart(tail[0]) {
					if !utf8.FullRune(tail) {
						line = line[:len(line)-cut]
					}
					break
				}
			}
			return line, true, nil
		}
		line = append(line, piece...)
		if err != bufio.ErrBufferFull {
			return line, false, err
		}
	}
}

// skipLine gives io.EOF if there is no line.
func skipLine(ctx context.Context, in *bufio.Reader) error {
	for some := false; ; some = true {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		piece, err := in.ReadSlice('\n')
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && (some || len(piece) > 0):
			return nil
		}
		return err
	}
}
