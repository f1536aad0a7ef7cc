package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"agentd/hookpoints/payload"
	"agentd/internal/api"
	"agentd/internal/model/modeltest"
	"agentd/operation"
)

func asksFor(question string) modeltest.Turn {
	return modeltest.Turn{Calls: []modeltest.Call{{ID: "q", Name: "ask", Arguments: question}}}
}

// mayAsk lets the agent of a project ask.
func mayAsk(t *testing.T, dir string) {
	t.Helper()
	file := filepath.Join(dir, ".agentd", "agentd.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "[shell]", "[shell, ask]", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, out := quiet(t, dir, "publish"); code != 0 {
		t.Fatalf("publish: %d, %s", code, out)
	}
}

// hides reports whether the terminal hides what is typed.
func (s *screen) hides() bool {
	s.t.Helper()
	var hides bool
	err := control(s.slave, func(fd int) error {
		now, err := unix.IoctlGetTermios(fd, getTermios)
		if err == nil {
			hides = now.Lflag&unix.ECHO == 0
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return hides
}

func TestPersonAtTheTerminalAnswersQuestions(t *testing.T) {
	for name, c := range map[string]struct {
		question string
		dialog   []string // what is shown, and what is typed then
		told     string   // to the model
	}{
		"a text":         {`{"kind":"text","prompt":"Why?"}`, []string{"a text (/no and why declines): ", "because\n"}, `{\"answer\":\"because\"}`},
		"a choice":       {`{"kind":"choice","prompt":"Which?","options":["main","next"]}`, []string{"  2  next\na number", "3\n", "want a number from 1 to 2\n", "2\n"}, `{\"answer\":\"next\"}`},
		"several":        {`{"kind":"multi","prompt":"Which?","options":["a","b"]}`, []string{"numbers with commas", "2, 1\n"}, `{\"answer\":[\"b\",\"a\"]}`},
		"yes or no":      {`{"kind":"confirmation","prompt":"Sure?"}`, []string{"y or n", "n\n"}, `{\"answer\":false}`},
		"declined":       {`{"kind":"text","prompt":"Why?"}`, []string{"a text", "/no not today\n"}, `{\"declined\":true,\"reason\":\"not today\"}`},
		"a form":         {`{"kind":"form","prompt":"Who?","fields":[{"name":"user","kind":"text","required":true},{"name":"age","kind":"validated","schema":{"type":"integer"}}]}`, []string{"1 of 2: user\n", "me\n", "2 of 2: age\n", "old\n", "type", "3\n"}, `{\"answer\":{\"user\":\"me\",\"age\":3}}`},
		"the input ends": {`{"kind":"text","prompt":"Why?"}`, []string{"a text", "\x04"}, `{\"declined\":true,\"reason\":\"nobody answered\"}`},
	} {
		t.Run(name, func(t *testing.T) {
			dir, m := asking(t, asksFor(c.question), modeltest.Turn{Text: []string{"Done."}})
			mayAsk(t, dir)
			s := newScreen(t)
			done := s.agentd(t.Context(), dir, "run", "do it")
			for i := 0; i < len(c.dialog); i += 2 {
				s.until(c.dialog[i], 1)
				s.types(c.dialog[i+1])
			}
			if code := <-done; code != 0 {
				t.Errorf("it ended with %d\n%s", code, s.shows())
			}
			if last := string(m.Requests()[1]); !strings.Contains(last, c.told) {
				t.Errorf("the model wasn't told %s: %s", c.told, last)
			}
		})
	}
}

func TestASecretIsTypedUnseen(t *testing.T) {
	dir, _ := asking(t, asksFor(`{"kind":"secret","prompt":"Key?"}`),
		modeltest.Turn{Calls: []modeltest.Call{{ID: "c", Name: "shell", Arguments: `{"command":"printf %s \"TAKEN\" > witness"}`, Take: `secret:value:[a-z2-7]{16}`}}}, modeltest.Turn{Text: []string{"Done."}})
	mayAsk(t, dir)
	s := newScreen(t)
	done := s.agentd(t.Context(), dir, "run", "do it")
	s.until("not shown while you type", 1)
	if !s.hides() {
		t.Error("the terminal shows what is typed")
	}
	s.types("abc\n")
	s.until("at least 4 characters", 1)
	s.until("not shown while you type", 2)
	s.types("hunter22 $x\n")
	s.until(prompt, 1) // for the shell
	if s.hides() {
		t.Error("the terminal hides on")
	}
	s.types("y\n")
	if code := <-done; code != 0 {
		t.Errorf("it ended with %d", code)
	}
	if got := witness(t, dir); got != "hunter22 $x" {
		t.Errorf("the tool got %q", got)
	}
	if shown := s.shows(); strings.Contains(shown, "hunter22") || strings.Contains(shown, "abc\n") {
		t.Errorf("it was shown:\n%s", shown)
	}
}

func TestATerminalShowsAgainWhatIsTypedHoweverTheQuestionEnds(t *testing.T) {
	for name, end := range map[string]func(s *screen, dir string, interrupt func()){
		"interrupted": func(_ *screen, _ string, interrupt func()) { interrupt() },
		"answered elsewhere": func(s *screen, dir string, _ func()) {
			c := api.NewClient(filepath.Join(dir, ".agentd", "state", "agentd.sock"), "")
			defer c.Close()
			open, err := c.Questions(s.t.Context())
			if err != nil || len(open) != 1 {
				s.t.Fatalf("%v, %v", open, err)
			}
			if _, err := c.Answer(s.t.Context(), open[0].ID, api.Answer{Verb: operation.Respond, Value: payload.NewString("hunter22")}); err != nil {
				s.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := asking(t, asksFor(`{"kind":"secret","prompt":"Key?"}`), modeltest.Turn{Text: []string{"Done."}})
			mayAsk(t, dir)
			s := newScreen(t)
			ctx, interrupt := context.WithCancel(t.Context())
			done := s.agentd(ctx, dir, "run", "do it")
			s.until("not shown while you type", 1)
			end(s, dir, interrupt)
			<-done
			if s.hides() {
				t.Error("the terminal hides on")
			}
		})
	}
}
