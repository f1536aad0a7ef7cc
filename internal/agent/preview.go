package agent

import (
	"fmt"

	"agentd/hookpoints/payload"
	"agentd/internal/tool"
)

// maxPreview bounds what a person is shown of a change, in bytes. What is cut off says so.
const maxPreview = 64 << 10

// preview is what hooks at tool.confirm are told that a call would do. It is made of what the journal
// keeps alone.
func preview(args, write payload.Value) string {
	if write.Exists() {
		return fmt.Sprintf("%s %s\n%s", write.Get("kind").Text(), write.Get("path").Text(), write.Get("content").Text())
	}
	if cmd := args.Get("command"); cmd.Kind() == payload.String {
		return cmd.Text()
	}
	return args.String()
}

// shown is what a person is shown of a call: of a change of a file what is different.
func (r *run) shown(args, write payload.Value) string {
	text := preview(args, write)
	if write.Exists() {
		if w, err := tool.WriteFrom(write); err == nil {
			if diff, ok := r.tools.Diff(w); ok {
				text = diff
			}
			if text == "" {
				text = w.Path + " stays as it is"
			}
		}
	}
	if n := len(text); n > maxPreview {
		for n = maxPreview; text[n]&0xC0 == 0x80; n-- {
		}
		text = fmt.Sprintf("%s\n[%d bytes more aren't shown]", text[:n], len(text)-n)
	}
	return text
}
