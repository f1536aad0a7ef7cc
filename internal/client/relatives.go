package client

import (
	"slices"
	"time"

	"agentd/hookpoints"
)

// The other members of the family. What they lack compared with Claude Code are rows.

// factory is Factory's Droid.
var factory = family{events: factoryEvents, downgrades: slices.Concat(of(factoryEvents, familyDowngrades), keepsResults("PostToolUse"),
	rows(hookpoints.Reject, "", AsNote, "nothing can keep it from compacting", "PreCompact"))}

var factoryEvents = within(time.Minute, Constructed,
	Known{Name: "SessionStart", Point: "session.start"},
	Known{Name: "UserPromptSubmit", Point: "turn.before"},
	Known{Name: "PreToolUse", Point: "tool.before"},
	Known{Name: "PostToolUse", Point: "tool.after"},
	Known{Name: "Notification", Point: "notification"},
	Known{Name: "SubagentStop", Point: "subagent.after"},
	Known{Name: "Stop", Point: "turn.after"},
	Known{Name: "PreCompact", Point: "context.compact.before"},
	Known{Name: "SessionEnd", Point: "session.end"},
)

// qwen is Qwen Code, Gemini CLI's fork with Claude Code's hooks.
var qwen = family{events: qwenEvents, rounds: true, expands: true, downgrades: slices.Concat(of(qwenEvents, familyDowngrades), keepsResults("PostToolUse"),
	rows(hookpoints.Patch, "arguments", AsDeny, "it takes a changed input only where it asks, and runs the old one", "PreToolUse"),
	rows(hookpoints.Reject, "", AsStop, "the tool failed already and its error can't be taken back", "PostToolUseFailure"),
	rows(hookpoints.Patch, "value", AsContext, "an error's text can't be replaced", "PostToolUseFailure"),
	rows(hookpoints.Reject, "", AsNote, "nothing can keep it from compacting", "PreCompact"),
	rows(hookpoints.Reject, "", AsNothing, "it only changes what is shown", "MessageDisplay"),
	rows(hookpoints.Context, "", AsLater, "it takes no context here", "TodoCreated", "TodoCompleted"),
	never("it has happened already", AsNote, "SessionDelete", "InstructionsLoaded", "PermissionDenied", "StopFailure"),
)}

var qwenEvents = within(time.Minute, Constructed,
	Known{Name: "SessionStart", Point: "session.start"},
	Known{Name: "SessionDelete", Point: "client.event"},
	Known{Name: "InstructionsLoaded", Point: "client.event"},
	Known{Name: "UserPromptSubmit", Point: "turn.before", Seen: Real},
	Known{Name: "UserPromptExpansion", Point: "client.event"},
	Known{Name: "MessageDisplay", Point: "model.chat.chunk"},
	Known{Name: "PreToolUse", Point: "tool.before", Seen: Real},
	Known{Name: "PermissionRequest", Point: "tool.confirm"},
	Known{Name: "PermissionDenied", Point: "client.event"},
	Known{Name: "PostToolUse", Point: "tool.after", Seen: Real},
	Known{Name: "PostToolUseFailure", Point: "tool.after"},
	Known{Name: "PostToolBatch", Point: "step.after"},
	Known{Name: "TodoCreated", Point: "client.event"},
	Known{Name: "TodoCompleted", Point: "client.event"},
	Known{Name: "Notification", Point: "notification", Seen: Real},
	Known{Name: "SubagentStart", Point: "subagent.before"},
	Known{Name: "SubagentStop", Point: "subagent.after"},
	Known{Name: "Stop", Point: "turn.after", Seen: Real, Proceeds: 8},
	Known{Name: "StopFailure", Point: "client.event"},
	Known{Name: "PreCompact", Point: "context.compact.before"},
	Known{Name: "PostCompact", Point: "context.compact.after"},
	Known{Name: "SessionEnd", Point: "session.end"},
)

// continueCLI is Continue's cn. It reads a changed input, an ask and a stop, and does nothing with them.
var continueCLI = family{events: continueEvents, downgrades: slices.Concat(of(continueEvents, familyDowngrades),
	rows(hookpoints.Ask, "", AsDeny, "it reads an ask and lets the call run", "PreToolUse"),
	rows(hookpoints.Allow, "", AsNothing, "its own rules follow all the same", "PreToolUse"),
	rows(hookpoints.Stop, "", AsDeny, "it takes no notice of a stop", "PreToolUse", "UserPromptSubmit"),
	rows(hookpoints.Patch, "arguments", AsDeny, "it reads a changed input and runs the old one", "PreToolUse"),
	rows(hookpoints.Context, "", AsLater, "what is said before a tool is dropped", "PreToolUse"),
	rows(hookpoints.Stop, "", AsContext, "it takes no notice of a stop", "PostToolUse", "PostToolUseFailure"),
	rows(hookpoints.Reject, "", AsContext, "its results can't be withheld; the model is told", "PostToolUse", "PostToolUseFailure"),
	rows(hookpoints.Patch, "value", AsContext, "its results can't be replaced", "PostToolUse", "PostToolUseFailure"),
	rows(hookpoints.Stop, "", AsNothing, "the turn is over already", "Stop"),
	rows(hookpoints.Reject, "", AsNote, "nothing can keep it from compacting", "PreCompact"),
	never("it does nothing with the answer", AsNote, "ConfigChange", "TeammateIdle", "TaskCompleted", "WorktreeCreate", "WorktreeRemove"),
)}

var continueEvents = within(10*time.Minute, Constructed,
	Known{Name: "SessionStart", Point: "session.start"},
	Known{Name: "UserPromptSubmit", Point: "turn.before"},
	Known{Name: "PreToolUse", Point: "tool.before"},
	Known{Name: "PermissionRequest", Point: "tool.confirm"},
	Known{Name: "PostToolUse", Point: "tool.after"},
	Known{Name: "PostToolUseFailure", Point: "tool.after"},
	Known{Name: "Notification", Point: "notification"},
	Known{Name: "SubagentStart", Point: "subagent.before"},
	Known{Name: "SubagentStop", Point: "subagent.after"},
	Known{Name: "TaskCompleted", Point: "client.event"},
	Known{Name: "TeammateIdle", Point: "client.event"},
	Known{Name: "Stop", Point: "turn.after"},
	Known{Name: "ConfigChange", Point: "client.event"},
	Known{Name: "WorktreeCreate", Point: "client.event"},
	Known{Name: "WorktreeRemove", Point: "client.event"},
	Known{Name: "PreCompact", Point: "context.compact.before"},
	Known{Name: "SessionEnd", Point: "session.end"},
)
