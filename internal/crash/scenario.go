package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"agentd/internal/model/modeltest"
)

//go:embed scenarios/*.txtar
var files embed.FS

// scenario is what is done in each life: a txtar archive whose comment has a line a step, whose file
// turns.json has what the model says, whose want has what comes of it (LINE < CAUSE where it needs another
// line to be known as done), and whose project/ is the project. In its agentd.yaml URL is the
// model's address. The line "never random" keeps it from being killed anywhere but at named places.
type scenario struct {
	name   string
	steps  []step
	turns  []modeltest.Turn
	steady bool              // it isn't killed at random moments
	want   []string          // what the life without a kill appends and commits, sorted
	cause  map[string]string // of what is only done if something else was, and is known to be
	files  []txtar.File
}

// step is one process that may be killed, or a change of a file.
//
//	run SESSION TASK...     agentd run; if it was cut off it is resumed
//	answer FLAGS...         agentd answer ID FLAGS of the one question that waits
//	command ARGS...         agentd ARGS; if it was cut off the same again
//	feed FILE ARGS...       the same with a file as its input
//	until TEXT ARGS...      agentd ARGS until it prints the text
//	copy FROM TO            what a person saves in the project
//	git ARGS...             git, in the project
//	serve ARGS...           agentd serve, for the steps that follow; it is the one that may be killed
//	stop                    ends it
type step struct {
	verb string
	args []string
}

func scenarios() ([]*scenario, error) {
	names, err := fs.Glob(files, "scenarios/*.txtar")
	if err != nil {
		return nil, err
	}
	var list []*scenario
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		s := &scenario{name: strings.TrimSuffix(path.Base(name), ".txtar")}
		if err := s.parse(txtar.Parse(text)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, s)
	}
	return list, nil
}

func (s *scenario) parse(a *txtar.Archive) error {
	for line := range strings.Lines(string(a.Comment)) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		switch words[0] {
		case "never": // killed at random
			s.steady = true
		case "run", "answer", "command", "feed", "until", "copy", "git", "serve", "stop":
			s.steps = append(s.steps, step{words[0], words[1:]})
		default:
			return fmt.Errorf("there is no step %q", words[0])
		}
	}
	for _, f := range a.Files {
		switch f.Name {
		case "turns.json":
			if err := json.Unmarshal(f.Data, &s.turns); err != nil {
				return fmt.Errorf("turns.json: %w", err)
			}
		case "want":
			s.cause = map[string]string{}
			for line := range strings.Lines(string(f.Data)) {
				what, after, _ := strings.Cut(strings.TrimSpace(line), " < ")
				s.want, s.cause[what] = append(s.want, what), after
			}
			slices.Sort(s.want)
		default:
			s.files = append(s.files, f)
		}
	}
	return nil
}
