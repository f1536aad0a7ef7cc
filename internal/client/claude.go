package client

import (
	"slices"
	"time"

	"agentd/hookpoints"
)

// claude is Claude Code, where the family's protocol comes from. Facts about it: a hook that can't be
// started or is too late lets the call through; allow lifts no rule of its settings; continue: false
// alone lets the tool run first; a changed input replaces the whole one; a changed result must keep the
// shape of its tool's; context at the end of a turn would send the agent on.
var claude = family{events: claudeEvents, downgrades: claudeDowngrades, replaces: true}

// within are events of which a client waits that long for an answer.
func within(limit time.Duration, seen Evidence, events ...Known) []Known {
	for i := range events {
		if events[i].Limit == 0 {
			events[i].Limit = limit
		}
		if events[i].Seen == "" {
			events[i].Seen = seen
		}
	}
	return events
}

var claudeEvents = within(10*time.Minute, Constructed,
	Known{Name: "SessionStart", Point: "session.start"},
	Known{Name: "Setup", Point: "client.event"},
	Known{Name: "InstructionsLoaded", Point: "client.event"},
	Known{Name: "UserPromptSubmit", Point: "turn.before", Limit: 30 * time.Second},
	Known{Name: "UserPromptExpansion", Point: "client.event"},
	Known{Name: "MessageDisplay", Point: "model.chat.chunk", Limit: 10 * time.Second},
	Known{Name: "PreToolUse", Point: "tool.before"},
	Known{Name: "PreSkillShellCommand", Point: "tool.before"},
	Known{Name: "PermissionRequest", Point: "tool.confirm"},
	Known{Name: "PermissionDenied", Point: "client.event"},
	Known{Name: "PostToolUse", Point: "tool.after"},
	Known{Name: "PostToolUseFailure", Point: "tool.after"},
	Known{Name: "PostToolBatch", Point: "step.after"},
	Known{Name: "Elicitation", Point: "elicit"},
	Known{Name: "ElicitationResult", Point: "client.event"},
	Known{Name: "Notification", Point: "notification"},
	Known{Name: "SubagentStart", Point: "subagent.before"},
	Known{Name: "SubagentStop", Point: "subagent.after"},
	Known{Name: "TaskCreated", Point: "client.event"},
	Known{Name: "TaskCompleted", Point: "client.event"},
	Known{Name: "TeammateIdle", Point: "client.event"},
	Known{Name: "Stop", Point: "turn.after", Proceeds: 8},
	Known{Name: "StopFailure", Point: "client.event"},
	Known{Name: "ConfigChange", Point: "client.event"},
	Known{Name: "CwdChanged", Point: "cwd.changed"},
	Known{Name: "DirectoryAdded", Point: "client.event"},
	Known{Name: "FileChanged", Point: "client.event"},
	Known{Name: "WorktreeCreate", Point: "client.event"},
	Known{Name: "WorktreeRemove", Point: "client.event"},
	Known{Name: "PreModelSwitch", Point: "client.event", Limit: 30 * time.Second},
	Known{Name: "PostModelSwitch", Point: "client.event", Limit: 30 * time.Second},
	Known{Name: "PreCompact", Point: "context.compact.before"},
	Known{Name: "PostCompact", Point: "context.compact.after"},
	Known{Name: "SessionEnd", Point: "session.end", Limit: 1500 * time.Millisecond},
)

var claudeDowngrades = slices.Concat(
	familyDowngrades,
	rows(hookpoints.Reject, "", AsStop, "the tool failed already and its error can't be taken back", "PostToolUseFailure"),
	rows(hookpoints.Ask, "", AsDeny, "it asks nobody about a command in a skill's text", "PreSkillShellCommand"),
	rows(hookpoints.Allow, "", AsNothing, "silence is its allow, and skips nothing", "PreSkillShellCommand"),
	rows(hookpoints.Respond, "", AsDeny, "it can't be given a result in the command's place", "PreSkillShellCommand"),
	rows(hookpoints.Patch, "arguments", AsDeny, "it takes no changed input", "PreSkillShellCommand"),
	rows(hookpoints.Patch, "value", AsContext, "an error's text can't be replaced", "PostToolUseFailure"),
	rows(hookpoints.Context, "", AsLater, "it takes no context here", "UserPromptExpansion", "TaskCreated", "TaskCompleted", "TeammateIdle", "ConfigChange", "ElicitationResult", "PreModelSwitch",
		"PreSkillShellCommand"),
	never("it has happened already, or nothing can keep it from happening", AsNote, "Setup", "InstructionsLoaded", "PermissionDenied", "StopFailure", "DirectoryAdded",
		"FileChanged", "WorktreeCreate", "WorktreeRemove", "PostModelSwitch"),
	never("it has happened already", AsNote, "CwdChanged"),
	rows(hookpoints.Reject, "", AsNothing, "it only changes what is shown", "MessageDisplay"),
)

// familyDowngrades hold for all of the family that have these events.
var familyDowngrades = slices.Concat(
	rows(hookpoints.Respond, "", AsDeny, "it can't be given a result in the tool's place", "PreToolUse"),
	rows(hookpoints.Ask, "", AsNothing, "it is about to ask anyway", "PermissionRequest"),
	rows(hookpoints.Patch, "annotations", AsNothing, "annotations are for the record", "PostToolUse", "PostToolUseFailure", "SubagentStop"),
	rows(hookpoints.Context, "", AsLater, "context at the end of a turn would send the agent on", "Stop"),
	rows(hookpoints.Stop, "clear", AsNothing, "it can't be told to drop its conversation", "Stop"),
	rows(hookpoints.Reject, "", AsNote, "a refusal at the end of a subagent would send it on", "SubagentStop"),
	rows(hookpoints.Reject, "", AsNote, "nothing can keep a session from beginning", "SessionStart"),
	rows(hookpoints.Reject, "", AsNote, "nothing can keep a session from ending", "SessionEnd"),
	rows(hookpoints.Reject, "", AsNote, "a subagent can be refused as the tool that starts it, not here", "SubagentStart"),
	rows(hookpoints.Reject, "", AsNote, "a notification can't be held back", "Notification"),
	rows(hookpoints.Reject, "", AsNote, "it is done already", "PostCompact"),
	rows(hookpoints.Patch, "summary", AsNothing, "its summary can't be changed", "PostCompact"),
)

// of are the rows about events that a client has.
func of(events []Known, downgrades []Downgrade) []Downgrade {
	return slices.DeleteFunc(slices.Clone(downgrades), func(d Downgrade) bool {
		return !slices.ContainsFunc(events, func(k Known) bool { return k.Name == d.Event })
	})
}
