package agentd_test

import (
	"context"
	"encoding/json"
	"fmt"

	"agentd/hookpoints/payload"
	"agentd/internal/agent"
	"agentd/internal/model"
	"agentd/internal/tool"
	"agentd/operation"
	"agentd/revision"
)

// runSpec runs a task, or goes on with the run of this id. Every run is of one session.
type runSpec struct {
	ID      string   `yaml:"id"`
	Task    string   `yaml:"task"`
	Earlier []string `yaml:"earlier"` // the runs before it
}

// modelReply is what the model says to one request.
type modelReply struct {
	Text  string `yaml:"text"`
	Calls []struct {
		Name      string `yaml:"name"`
		Arguments any    `yaml:"arguments"`
	} `yaml:"calls"`
	Raw   string `yaml:"raw"`   // a reply as JSON, as it stands
	Error string `yaml:"error"` // lost, refused, malformed, or gone: whoever asked goes away meanwhile
}

// toolSpec is a tool that notes "NAME ARGUMENTS" with the witness.
type toolSpec struct {
	Name       string       `yaml:"name"`
	ToolID     string       `yaml:"id"` // default the name
	Idempotent bool         `yaml:"idempotent"`
	Schema     any          `yaml:"schema"`
	Results    []resultSpec `yaml:"results"`
}

func (p *process) run(q *runSpec) (payload.Value, error) {
	task := p.task(q.ID, q.Task)
	for _, id := range q.Earlier {
		rows, err := p.store.Rows(p.ctx, id)
		if err != nil {
			return payload.Value{}, err
		}
		task.Earlier = append(task.Earlier, p.task(id, operation.Summarise(rows).Original.Get("task").Text()))
	}
	s, err := p.rt.Session(p.ctx, "s")
	if err == nil {
		err = s.Resume(p.ctx, q.ID)
	}
	if err != nil {
		return payload.Value{}, err
	}
	res, err := agent.New(agent.Options{
		Runtime: p.rt, Workspace: p.dir,
		Provider: func(revision.Model) (model.Provider, error) { return talker{p}, nil },
		Tools: func(names []string) (*tool.Set, error) {
			var extra []tool.Tool
			for _, t := range p.spec.Tools {
				if p.withdrawn {
					break
				}
				extra = append(extra, &worldTool{p, t})
			}
			return tool.New(p.dir, names, tool.Options{Extra: extra})
		},
		Emit: func(e agent.Event) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.events = append(p.events, e.JSON().String())
		},
	}).Run(p.ctx, s, task)
	if err != nil {
		return payload.Value{}, err
	}
	return payload.NewObject(field("status", res.Status), field("answer", res.Answer), field("reason", res.Reason)), nil
}

func (p *process) task(id, text string) agent.Task {
	return agent.Task{RunID: id, SessionID: "s", Text: text, Revisions: p.pinned(id)}
}

// talker is the model: it answers the n-th request with the n-th reply.
type talker struct{ p *process }

// Chat implements model.Provider.
func (m talker) Chat(ctx context.Context, req model.Request, _ func(string)) (payload.Value, error) {
	m.p.mu.Lock()
	n := len(m.p.requests)
	m.p.requests = append(m.p.requests, req.Messages)
	m.p.mu.Unlock()
	if req.Temperature != nil {
		m.p.note(fmt.Sprint("temperature ", *req.Temperature))
	}
	m.p.at("inside.model")
	if n >= len(m.p.spec.Model) {
		return payload.Value{}, &model.Error{Kind: model.ErrRefused, Message: "the scenario has no more replies"}
	}
	return m.p.reply(m.p.spec.Model[n], n)
}

func (p *process) reply(r modelReply, n int) (payload.Value, error) {
	switch r.Error {
	case "":
	case "gone":
		p.cancel()
		return payload.Value{}, p.ctx.Err()
	case "lost":
		return payload.Value{}, &model.Error{Kind: model.ErrUnknown, Message: "the connection broke"}
	case "malformed":
		return payload.Value{}, &model.Error{Kind: model.ErrMalformed, Message: "no JSON", Raw: r.Raw}
	default:
		return payload.Value{}, &model.Error{Kind: model.ErrRefused, Message: r.Error}
	}
	if r.Raw != "" {
		return payload.ParseString(r.Raw)
	}
	reply := map[string]any{"role": "assistant", "content": nil, "usage": map[string]any{"total_tokens": 7}, "finish_reason": "stop"}
	if r.Text != "" {
		reply["content"] = r.Text
	}
	var calls []any
	for i, c := range r.Calls {
		args, err := json.Marshal(c.Arguments)
		if err != nil {
			return payload.Value{}, err
		}
		calls = append(calls, map[string]any{"id": fmt.Sprintf("call-%d-%d", n+1, i+1), "type": "function", "function": map[string]any{"name": c.Name, "arguments": string(args)}})
	}
	if calls != nil {
		reply["tool_calls"] = calls
	}
	return payload.From(reply)
}

// worldTool is a toolSpec at work.
type worldTool struct {
	p *process
	toolSpec
}

// Spec implements tool.Tool.
func (t *worldTool) Spec() tool.Spec {
	schema := t.Schema
	if schema == nil {
		schema = map[string]any{"type": "object"}
	}
	id := t.ToolID
	if id == "" {
		id = t.Name
	}
	return tool.Spec{Name: t.Name, ID: id, Kind: tool.KindOther, Description: "It notes what it is given.", Idempotent: t.Idempotent, Parameters: t.p.value(schema)}
}

// Call implements tool.Tool.
func (t *worldTool) Call(ctx context.Context, c tool.Invocation) tool.Result {
	n := t.p.try(c.Key)
	t.p.note(t.Name + " " + c.Arguments.String())
	t.p.at("inside." + t.Name)
	res := resultSpec{Value: map[string]any{"noted": true}}
	if len(t.Results) > 0 {
		res = t.Results[min(n, len(t.Results)-1)]
	}
	switch {
	case res.Cancel:
		t.p.cancel()
		return tool.Result{Value: payload.NewObject(field("error", "cut off")), Status: tool.Cancelled}
	case res.Lost:
		return tool.Result{Value: payload.NewObject(field("error", "nobody knows")), Status: tool.Unknown}
	case res.Status == "":
		res.Status = string(tool.Succeeded)
	}
	return tool.Result{Value: t.p.value(res.Value), Status: tool.Status(res.Status)}
}
