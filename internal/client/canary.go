package client

// CanaryTool is a tool that no client has. agentd refuses it always, without a hook and without a record, so
// that agentd doctor can see whether a refusal gets through.
const CanaryTool = "agentd_canary"

// Canary is the verdict about an event of the canary. It is not ok for all others.
func Canary(e Event) (v Verdict, ok bool) {
	if e.Point != "tool.before" || e.Tool != CanaryTool {
		return Verdict{}, false
	}
	return Verdict{Kind: Deny, Reason: "agentd's canary is always refused"}, true
}
