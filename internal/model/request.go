package model

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	"agentd/hookpoints/payload"
)

func field(name string, v payload.Value) payload.Field { return payload.Field{Name: name, Value: v} }

// encode writes the body of a streaming Chat Completions request. Only keys that the protocol knows
// are sent, as strict servers refuse others; what is sent keeps its text.
func encode(req Request, base *url.URL) []byte {
	fields := []payload.Field{
		field("model", payload.NewString(req.Model)),
		field("messages", messages(req.Messages)),
	}
	if req.Tools.Len() > 0 {
		fields = append(fields, field("tools", tools(req.Tools)))
	}
	if req.Temperature != nil {
		fields = append(fields, field("temperature", float(*req.Temperature)))
	}
	if req.TopP != nil {
		fields = append(fields, field("top_p", float(*req.TopP)))
	}
	if req.MaxTokens != nil {
		fields = append(fields, field(maxTokensKey(base), payload.NewInt(*req.MaxTokens)))
	}
	fields = append(fields,
		field("stream", payload.NewBool(true)),
		field("stream_options", payload.NewObject(field("include_usage", payload.NewBool(true)))))
	return payload.NewObject(fields...).JSON()
}

// maxTokensKey differs because OpenAI's newer models refuse the name that everyone else knows.
func maxTokensKey(base *url.URL) string {
	if base.Hostname() == "api.openai.com" {
		return "max_completion_tokens"
	}
	return "max_tokens"
}

func float(f float64) payload.Value {
	return payload.NewNumber(strconv.FormatFloat(f, 'g', -1, 64))
}

func messages(list payload.Value) payload.Value {
	out := make([]payload.Value, 0, list.Len())
	for m := range list.Items() {
		role := m.Get("role")
		content := m.Get("content")
		if role.Text() == "tool" && content.Kind()&(payload.String|payload.Array) == 0 {
			content = payload.NewString(content.String())
		}
		fields := []payload.Field{field("role", role), field("content", content)}
		if calls := m.Get("tool_calls"); calls.Len() > 0 {
			if !content.Exists() {
				fields[1].Value = payload.NewNull()
			}
			fields = append(fields, field("tool_calls", calls))
		}
		for _, key := range []string{"tool_call_id", "name"} {
			if v := m.Get(key); v.Kind() == payload.String {
				fields = append(fields, field(key, v))
			}
		}
		out = append(out, payload.NewObject(fields...))
	}
	return payload.NewArray(out)
}

func tools(list payload.Value) payload.Value {
	out := make([]payload.Value, 0, list.Len())
	for t := range list.Items() {
		out = append(out, payload.NewObject(
			field("type", payload.NewString("function")),
			field("function", payload.NewObject(
				field("name", t.Get("name")),
				field("description", t.Get("description")),
				field("parameters", t.Get("parameters"))))))
	}
	return payload.NewArray(out)
}

// loopback reports whether a server runs on this machine, where no key is needed.
func loopback(base *url.URL) bool {
	host := base.Hostname()
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}
