// agentd's plugin for OpenCode. Written by `agentd install opencode`, taken out by `agentd uninstall opencode`.
//
// It tells agentd what happens and does what the hooks decided: over the daemon's socket, or, where no daemon
// answers, by starting agentd-hook. What nobody could decide about doesn't happen at the events that are closed in
// the settings: a tool call doesn't run, a result isn't shown. It needs nothing but node's own modules, which Bun
// has too.
import { spawn } from "node:child_process"
import { statSync } from "node:fs"
import { connect } from "node:net"
import { dirname, join } from "node:path"

const settings = SETTINGS

// What the plugin waits for: agentd has eight tenths of the time to answer, and says itself why it can't.
const within = settings.timeout * 800
const patience = settings.timeout * 900

// The state folder that agentd would choose here.
function stateFolder(directory) {
  if (!settings.anywhere) return dirname(settings.program)
  if (process.env.AGENTD_STATE) return process.env.AGENTD_STATE
  if (process.env.AGENTD_PROJECT) return join(process.env.AGENTD_PROJECT, ".agentd", "state")
  for (let dir = directory; dir; ) {
    if (statSync(join(dir, ".agentd"), { throwIfNoEntry: false })?.isDirectory()) return join(dir, ".agentd", "state")
    const up = dirname(dir)
    if (up === dir) break
    dir = up
  }
  return dirname(settings.program)
}

// Undecided is thrown when nobody said what to do.
class Undecided extends Error {}

// An answer is one JSON object; nothing at all is an empty one.
function answerIn(text) {
  if (text.trim() === "") return {}
  let answer
  try {
    answer = JSON.parse(text)
  } catch {
    throw new Undecided("the answer isn't JSON")
  }
  if (answer === null || typeof answer !== "object" || Array.isArray(answer)) throw new Undecided("the answer is no object")
  return answer
}

// Asks the daemon. Null means that none answered, or not with an answer to this.
function askDaemon(event, text, directory) {
  return new Promise((resolve, reject) => {
    const parts = []
    const socket = connect({ path: join(stateFolder(directory), "agentd.sock") })
    const late = setTimeout(() => {
      socket.destroy()
      reject(new Undecided("agentd didn't answer in time"))
    }, patience)
    const end = (answer) => {
      clearTimeout(late)
      socket.destroy()
      resolve(answer)
    }
    socket.on("error", () => end(null))
    socket.on("data", (part) => parts.push(part))
    socket.on("close", () => {
      const all = Buffer.concat(parts)
      const head = all.indexOf("\r\n\r\n")
      const lines = all.subarray(0, Math.max(head, 0)).toString()
      const length = Number(/\r\nContent-Length: (\d+)/i.exec(lines)?.[1])
      const code = Number(/\r\nAgentd-Exit: (\d+)/i.exec(lines)?.[1])
      const body = all.subarray(head + 4)
      end(lines.startsWith("HTTP/1.1 200 ") && body.length === length && code === 0 ? body.toString() : null)
    })
    socket.on("connect", () => {
      const body = Buffer.from(text)
      socket.write(
        `POST /v1/hook/opencode?event=${event} HTTP/1.1\r\nHost: agentd\r\nConnection: close\r\n` +
          `Agentd-Within: ${within}ms\r\nContent-Length: ${body.length}\r\n\r\n`,
      )
      socket.write(body)
    })
  })
}

// Starts agentd-hook, which becomes agentd where no daemon answers.
function askProgram(event, text, directory) {
  return new Promise((resolve, reject) => {
    const args = ["opencode", `--event=${event}`, `--timeout=${settings.timeout}`]
    if (settings.closed.includes(event)) args.push("--closed")
    if (settings.anywhere) args.push("--anywhere")
    let out = ""
    let talk = ""
    const child = spawn(settings.program, args, { cwd: directory, stdio: ["pipe", "pipe", "pipe"] })
    const late = setTimeout(() => {
      child.kill("SIGKILL")
      reject(new Undecided("agentd didn't answer in time"))
    }, patience)
    child.on("error", (err) => {
      clearTimeout(late)
      reject(new Undecided(`${settings.program} can't be started: ${err.message}`))
    })
    child.stdin.on("error", () => {}) // it ends without reading all: its exit code says why
    child.stdout.on("data", (part) => (out += part))
    child.stderr.on("data", (part) => (talk += part))
    child.on("close", (code) => {
      clearTimeout(late)
      if (code === 0) resolve(out)
      else reject(new Undecided(talk.trim() || `agentd-hook ended with ${code}`))
    })
    child.stdin.end(text)
  })
}

// Why nobody decided, in agentd's own words where it has said it.
const why = (err) => (err.message.startsWith("agentd can't decide this") ? err.message : `agentd can't decide this: ${err.message}`)

async function ask(event, fields, directory) {
  const text = JSON.stringify({ client: "opencode", event, cwd: directory, ...fields })
  return answerIn((await askDaemon(event, text, directory)) ?? (await askProgram(event, text, directory)))
}

// Changes an object in place, as OpenCode keeps the one that it passed.
function become(target, values) {
  for (const key of Object.keys(target)) delete target[key]
  Object.assign(target, values)
}

export const agentd = async ({ client, directory }) => {
  const prompts = new Map() // of each session, the last one
  const sentOn = new Set() // sessions that a hook sent on
  const inputs = new Map() // of each call that runs
  const children = new Set() // sessions of subagents

  const abort = (id) => client?.session?.abort?.({ path: { id } })?.catch?.(() => {})
  const tell = (answer) => {
    if (answer.note) client?.tui?.showToast?.({ body: { title: "agentd", message: String(answer.note), variant: "info" } })?.catch?.(() => {})
  }

  // Asks, and where nobody decides throws if the event is closed.
  const judge = async (event, fields) => {
    try {
      const answer = await ask(event, fields, directory)
      tell(answer)
      return answer
    } catch (err) {
      if (settings.closed.includes(event)) throw new Error(why(err))
      console.error(`agentd: ${event}: ${err.message}`)
      return {}
    }
  }

  return {
    "tool.execute.before": async (input, output) => {
      const args = output.args ?? {}
      const answer = await judge("tool.execute.before", { session_id: input.sessionID, call_id: input.callID, tool: input.tool, arguments: args })
      if (answer.decision) {
        if (answer.decision === "stop") abort(input.sessionID)
        throw new Error(answer.reason || "a hook of agentd refused this")
      }
      if (answer.arguments) {
        if (output.args) become(output.args, answer.arguments)
        else output.args = answer.arguments
      }
      inputs.set(input.callID, structuredClone(output.args ?? {}))
    },

    "tool.execute.after": async (input, output) => {
      const args = input.args ?? inputs.get(input.callID) ?? {}
      inputs.delete(input.callID)
      const shown = output.output
      const show = (text) => {
        output.output = text
        if (output.metadata && typeof output.metadata.output === "string") output.metadata.output = text // for the person
      }
      let answer
      try {
        answer = await judge("tool.execute.after", {
          session_id: input.sessionID,
          call_id: input.callID,
          tool: input.tool,
          arguments: args,
          output: shown,
          title: output.title,
        })
      } catch (err) {
        return show(`withheld: ${err.message}`)
      }
      if (answer.decision === "stop") abort(input.sessionID)
      else if (answer.decision) return show(answer.reason || "a hook of agentd withheld this")
      if (answer.output !== undefined) show(answer.output)
      if (answer.context?.length) output.output = [output.output, ...answer.context].join("\n\n")
    },

    "chat.message": async (input, output) => {
      const texts = (output.parts ?? []).filter((part) => part.type === "text" && !part.synthetic)
      const prompt = texts.map((part) => part.text).join("\n")
      prompts.set(input.sessionID, prompt)
      const answer = await judge("chat.message", {
        session_id: input.sessionID,
        message_id: input.messageID ?? output.message?.id,
        agent: input.agent,
        prompt,
      })
      if (answer.decision) throw new Error(answer.reason || "a hook of agentd refused this prompt")
      const last = texts.at(-1)
      if (last && answer.context?.length) last.text = [last.text, ...answer.context].join("\n\n")
    },

    event: async ({ event }) => {
      const about = event.properties ?? {}
      const id = about.sessionID ?? about.info?.id
      switch (event.type) {
        case "session.created":
          if (about.info?.parentID) children.add(id)
          else await judge(event.type, { session_id: id })
          break
        case "session.idle": {
          if (children.has(id)) break
          const continues = sentOn.delete(id)
          const answer = await judge(event.type, { session_id: id, prompt: prompts.get(id), continues })
          if (answer.proceed) {
            sentOn.add(id)
            client?.session?.prompt?.({ path: { id }, body: { parts: [{ type: "text", text: answer.proceed }] } })?.catch?.(() => {})
          }
          break
        }
        case "session.compacted":
          await judge(event.type, { session_id: id })
          break
        case "session.error":
          await judge(event.type, { session_id: id, error: String(about.error?.name ?? about.error ?? "") })
          break
        case "session.deleted":
          if (!children.delete(id)) await judge(event.type, { session_id: id })
          prompts.delete(id)
          sentOn.delete(id)
          break
      }
    },
  }
}
