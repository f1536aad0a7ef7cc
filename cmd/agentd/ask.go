package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"agentd/hookpoints/payload"
	"agentd/internal/api"
	"agentd/internal/tool"
	"agentd/operation"
)

// errLeft: who sat at the terminal closed their input. The question goes on waiting.
var errLeft = errors.New("nobody answers any more")

// person is who sits at the terminal. They are asked while events go on coming, since a question can
// also be answered elsewhere, and the run be cancelled.
type person struct {
	*env
	reading sync.Once

	mu   sync.Mutex
	line line
	open *question
	gone bool
}

// line is the connection to who puts the questions.
type line struct {
	ctx   context.Context
	leave func() // they closed their input
	send  func(id string, a api.Answer) error
}

// listen reads from now on: what was typed before a question came answers none. The reader ends with
// the input or with the process: nothing else can end a read from a terminal.
func (p *person) listen(l line) {
	p.mu.Lock()
	p.line = l
	p.mu.Unlock()
	p.reading.Do(func() { go p.read() })
}

func (p *person) read() {
	lines := bufio.NewScanner(p.stdin)
	for lines.Scan() {
		p.typed(lines.Text())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone = true; p.open != nil {
		p.left(p.open)
	}
}

// left is a question that they left open: whether something may run waits for another answer, and what
// else is asked for is declined. The lock is held.
func (p *person) left(q *question) {
	q.reveal()
	if q.v.Get("kind").Text() == operation.Confirm {
		p.line.leave()
		return
	}
	p.open = nil
	if err := p.line.send(q.id(), api.Answer{Verb: operation.Deny, Reason: "nobody answered"}); err != nil && p.line.ctx.Err() == nil {
		p.note("agentd: %v", err)
	}
}

// ask puts a question.
func (p *person) ask(v payload.Value) {
	q := &question{env: p.env, v: v}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = q
	if p.gone {
		p.left(q)
		return
	}
	if err := q.show(); err != nil {
		p.note("agentd: the question %s can't be shown: %v", q.id(), err)
		p.open = nil
	}
}

// settled takes a question back that was answered, here or elsewhere.
func (p *person) settled(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open != nil && p.open.id() == id {
		p.open.reveal()
		p.open = nil
	}
}

// done leaves the terminal as it was.
func (p *person) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open != nil {
		p.open.reveal()
	}
}

// again asks for another line, if the question is still open.
func (p *person) again(q *question) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == q {
		q.prompt()
	}
}

// asked is the question that is open, "" if none is.
func (p *person) asked() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil {
		return ""
	}
	return p.open.id()
}

// typed is a line that they typed; while no question is open it is nobody's answer.
func (p *person) typed(text string) {
	p.mu.Lock()
	q, line := p.open, p.line
	if q != nil {
		q.reveal()
	}
	p.mu.Unlock()
	if q == nil {
		return
	}
	a, ok := q.understand(line.ctx, text)
	if !ok {
		p.again(q)
		return
	}
	p.settled(q.id()) // before it is sent, as the next one may come before that is acknowledged
	err := line.send(q.id(), a)
	if err == nil || line.ctx.Err() != nil {
		return
	}
	p.note("agentd: %v", err)
	if errors.Is(err, api.ErrInvalid) { // it is open as before
		p.mu.Lock()
		if p.open == nil {
			p.open = q
		}
		p.mu.Unlock()
		p.again(q)
	}
}

// question is one that is shown on a terminal.
type question struct {
	*env
	v    payload.Value
	talk *talk // if it asks for more than yes or no
}

func (q *question) id() string { return q.v.Get("id").Text() }

func (q *question) show() error {
	if kind := q.v.Get("kind").Text(); kind != operation.Confirm {
		if err := q.elicits(); err != nil {
			return err
		}
		q.prompt()
		return nil
	}
	q.note("\n%s", visible(q.v.Get("prompt").Text()))
	if again := q.v.Get("again").Text(); again != "" {
		q.note("(asked again: %s)", visible(again))
	}
	if by := q.v.Get("by").Text(); by != "" {
		q.note("%s asks.", visible(by))
	}
	q.note("%s", indent(visible(q.v.Get("preview").Text())))
	q.prompt()
	return nil
}

func (q *question) prompt() {
	if q.talk != nil {
		q.next()
		return
	}
	fmt.Fprint(q.stderr, "[y]es, [n]o and why, [e]dit, [a]ll of this session, [c]opy, [?]: ")
}

const keys = `  y          yes, this once
  n REASON   no; the model is told why
  e          change the arguments in $VISUAL or $EDITOR first; they are looked at like any others
  a          yes, and to all questions of this session that come
  a N        yes, and to the next N of them; neither lifts a rejection or a denial
  c          copy what would run, and ask again
  end of input leaves the question waiting: agentd answer`

// understand makes an answer of a line. What isn't one is asked again.
func (q *question) understand(ctx context.Context, line string) (a api.Answer, ok bool) {
	if q.talk != nil {
		return q.take(line)
	}
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSpace(rest)
	allow := api.Answer{Verb: operation.Allow}
	switch strings.ToLower(word) {
	case "y", "yes":
		if rest == "" {
			return allow, true
		}
	case "n", "no":
		return api.Answer{Verb: operation.Deny, Reason: rest}, true
	case "a", "all":
		if allow.For = operation.Always; rest == "" {
			return allow, true
		}
		if n, err := strconv.Atoi(rest); err == nil && n > 0 {
			allow.For = n
			return allow, true
		}
	case "e", "edit":
		if rest == "" {
			return q.edit(ctx)
		}
	case "c", "copy":
		if rest == "" {
			q.copy()
			return a, false
		}
	case "?", "h", "help":
		q.note("%s", keys)
		return a, false
	}
	q.note("that is no answer; ? shows what is one")
	return a, false
}

// copy puts what would run on the clipboard, which terminals do that know the sequence.
func (q *question) copy() {
	what := q.v.Get("arguments")
	said := what.String()
	if command := what.Get("command"); command.Kind() == payload.String {
		said = command.Text()
	}
	fmt.Fprintf(q.stderr, "\x1b]52;c;%s\a", base64.StdEncoding.EncodeToString([]byte(said)))
	q.note("copied, if the terminal does that")
}

// edit lets the person change the arguments in an editor. What they leave as it was is no answer.
func (q *question) edit(ctx context.Context) (a api.Answer, ok bool) {
	was := q.v.Get("arguments")
	is, err := q.edited(ctx, was)
	switch {
	case err != nil:
		q.note("agentd: %v", err)
	case is.String() == was.String():
		q.note("nothing was changed")
	default:
		return api.Answer{Verb: operation.Allow, Edit: is}, true
	}
	return a, false
}

func (q *question) edited(ctx context.Context, was payload.Value) (is payload.Value, err error) {
	dir, err := os.MkdirTemp("", "agentd-edit-")
	if err != nil {
		return is, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "arguments.json")
	text, err := indented(was)
	if err != nil {
		return is, err
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return is, err
	}
	editor := strings.Fields(q.getenv("VISUAL"))
	if len(editor) == 0 {
		editor = strings.Fields(q.getenv("EDITOR"))
	}
	if len(editor) == 0 {
		editor = []string{"vi"}
	}
	if err := tool.Attended(ctx, append(editor, path), q.stdin, q.stderr, q.stderr); err != nil {
		return is, fmt.Errorf("the editor: %w; set VISUAL or EDITOR to one that is there", err)
	}
	now, err := os.ReadFile(path)
	if err != nil {
		return is, err
	}
	if string(now) == string(text) {
		return was, nil
	}
	if is, err = payload.Parse(now); err != nil {
		return is, fmt.Errorf("what was left in the editor is no JSON: %w", err)
	}
	return is, nil
}

func indent(s string) string { return "    " + strings.ReplaceAll(s, "\n", "\n    ") }

// visible shows what a terminal would obey or hide, so that nobody is shown another thing than what
// would run.
func visible(s string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) || unicode.IsSpace(r) && r > 0xFF {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}
