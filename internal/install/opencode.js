// agentd's plugin for OpenCode. Written by `agentd install opencode`, taken out by `agentd uninstall opencode`.
//
// It tells agentd what happens and does what the hooks decided: over the daemon's socket, or, where no daemon
// answers, by starting agentd-hook. What nobody could decide about doesn't happen at the events that are closed in
// the settings: a tool call doesn't run, a result isn't shown. It needs nothing but node's own modules, which Bun
// has too.
//
// What it rests on: OpenCode waits for every hook but event and shows what a hook throws before a tool to the model;
// it runs the very object that it passed as arguments, and keeps the one that it passed as result. It never calls
// permission.ask.
import { spawn } from "node:child_process"
import { statSync } from "node:fs"
import { connect } from "node:net"
import { dirname, join } from "node:path"

const settings = SETTINGS

// The events at which what nobody could decide about doesn't happen.
const closed = new Set(settings.closed)

// What the plugin waits for: agentd has eight tenths of the time to answer, and says itself why it can't.
const within = settings.timeout * 800
const patience = settings.timeout * 900

// What can't be looked at, as a link that leads to itself, is none: a plugin that throws here isn't loaded, and then
// nobody guards anything.
function isFolder(path) {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

// The state folder that agentd would choose here.
function stateFolder(directory) {
  if (!settings.anywhere) return dirname(settings.program)
  if (process.env.AGENTD_STATE) return process.env.AGENTD_STATE
  if (process.env.AGENTD_PROJECT) return join(process.env.AGENTD_PROJECT, ".agentd", "state")
  for (let dir = directory; dir; ) {
    if (isFolder(join(dir, ".agentd"))) return join(dir, ".agentd", "state")
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
    if (closed.has(event)) args.push("--closed")
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

// opencode run ends with the turn, and shows nobody what comes after it, nor what is shown in the interface.
const words = process.argv.slice(2)
const unattended = words.find((word) => !word.startsWith("-")) === "run" && !words.includes("-i") && !words.includes("--interactive")

// What a model is shown of a result: a text, or of a tool of an MCP server the texts of a list.
const shownOf = (result) =>
  Array.isArray(result.content) && result.output === undefined
    ? result.content
        .map((part) => (part.type === "text" ? part.text : part.resource?.text))
        .filter((text) => typeof text === "string")
        .join("\n\n")
    : result.output

// Shows something else, and nothing that came with the old text: no pictures, and no copy for the person.
function show(result, text) {
  if (Array.isArray(result.content)) {
    result.content = [{ type: "text", text }]
    delete result.structuredContent
  }
  if (!Array.isArray(result.content) || result.output !== undefined) result.output = text
  delete result.attachments
  for (const name of ["output", "preview"]) if (typeof result.metadata?.[name] === "string") result.metadata[name] = text
}

function append(result, texts) {
  if (Array.isArray(result.content)) for (const text of texts) result.content.push({ type: "text", text })
  if (!Array.isArray(result.content) || result.output !== undefined) result.output = [result.output, ...texts].join("\n\n")
}

// Which of these plugins speaks, where one for the project and one for all projects ask the same agentd: the first.
// OpenCode passes all plugins of a project the same object, and another one when it begins anew.
const speakers = (globalThis[Symbol.for("agentd.opencode")] ??= new WeakMap())

function speaks(project) {
  if (!speakers.has(project)) speakers.set(project, new Map())
  const folders = speakers.get(project)
  const folder = stateFolder(project.directory)
  if (!folders.has(folder)) return folders.set(folder, closed)
  for (const event of closed) folders.get(folder).add(event)
}

export const agentd = async (project) => {
  if (!speaks(project)) return {}
  const { client, directory } = project
  const prompts = new Map() // of each session, the last one
  const turns = new Set() // sessions in which a prompt is being worked on
  const sentOn = new Map() // sessions that a hook sent on, with what
  const running = new Map() // calls that were let go, with their inputs
  const ending = new Set() // calls with whose results the turn has to end
  const partOf = new Map() // of each call that isn't over, the part of the conversation that holds it
  const instead = new Map() // of parts with calls that failed, what is shown for the error
  const parents = new Map() // of each session, the one that it is a subagent of, or none
  const busy = new Set() // what nobody else waits for
  const open = new Set() // what the next request to the model has to wait for
  let servers = [] // MCP servers in the configuration

  const abort = async (id) => {
    await client?.session?.abort?.({ path: { id } })?.catch?.(() => {})
  }
  const toast = (message, variant) => {
    if (unattended) console.error(`agentd: ${message}`)
    client?.tui?.showToast?.({ body: { title: "agentd", message, variant } })?.catch?.(() => {})
  }

  // Asks, and where nobody decides throws if the event is closed.
  const judge = async (event, fields) => {
    try {
      const answer = await ask(event, fields, directory)
      if (answer.note) toast(String(answer.note), "info")
      return answer
    } catch (err) {
      if (closed.has(event)) throw new Error(why(err))
      console.error(`agentd: ${event}: ${err.message}`)
      return {}
    }
  }

  // The session of the person that a session belongs to, and which subagent acts.
  const parentOf = async (id) => {
    if (id && !parents.has(id)) {
      const session = await client?.session?.get?.({ path: { id } })?.catch?.(() => undefined)
      parents.set(id, session?.data?.parentID)
    }
    return parents.get(id)
  }
  const whose = async (id) => {
    let top = id
    for (let up = await parentOf(top); up; up = await parentOf(top)) top = up
    return top === id ? { session_id: id } : { session_id: top, agent_id: id }
  }

  // A tool of an MCP server is called SERVER_TOOL, with what isn't a letter, a digit, _ or - made _.
  const server = async (tool) => {
    if (!tool.includes("_")) return {}
    const status = await client?.mcp?.status?.()?.catch?.(() => undefined)
    const owns = (name) => tool.startsWith(name.replace(/[^a-zA-Z0-9_-]/g, "_") + "_")
    const owner = [...servers, ...Object.keys(status?.data ?? {})].filter(owns).sort((a, b) => b.length - a.length)[0]
    return owner ? { server: owner, server_tool: tool.slice(owner.length + 1) } : {}
  }

  const nameOf = (about) => `${about.sessionID} ${about.callID}`

  // Nobody waits for what an event leads to, or hears what it throws.
  const aside = (work, set) => {
    const done = work.catch((err) => console.error(`agentd: ${err.message}`)).finally(() => set.delete(done))
    set.add(done)
  }

  // What a model is shown of a call's result, where hooks want it otherwise; undefined where they don't.
  const changed = (answer) => {
    const reason = answer.reason || "a hook of agentd withheld this"
    if (answer.decision === "stop") return answer.output ?? `the call is over, and its result is withheld: ${reason}`
    if (answer.decision) return reason
    return answer.output
  }

  // A call that failed: OpenCode says so in an event, and calls no hook. It shows the model the error, of a command
  // that was cut off what it had printed until then.
  const failed = async (part, args) => {
    const { error, metadata } = part.state
    const interrupted = metadata?.interrupted === true
    const shown = interrupted && typeof metadata.output === "string" ? metadata.output : String(error ?? "")
    let text
    try {
      const answer = await judge("message.part.updated", {
        ...(await whose(part.sessionID)),
        call_id: part.callID,
        tool: part.tool,
        ...(await server(part.tool)),
        arguments: args,
        error: shown,
        interrupted,
      })
      text = changed(answer)
      if (answer.context?.length) text = [text ?? shown, ...answer.context].join("\n\n")
      if (answer.decision === "stop") await abort(part.sessionID)
    } catch (err) {
      text = `withheld: ${err.message}`
    }
    if (text !== undefined) instead.set(part.id, text)
  }

  // A call's part of the conversation changed. A turn ends once the result is kept: while a call runs OpenCode would
  // keep what it had printed.
  const moved = (part) => {
    const name = nameOf(part)
    const { status } = part.state ?? {}
    if (status !== "completed" && status !== "error") {
      partOf.set(name, part.id)
      return
    }
    partOf.delete(name)
    const args = running.get(name)
    running.delete(name)
    if (ending.delete(name)) aside(abort(part.sessionID), open)
    else if (status === "error" && args) aside(failed(part, args), open)
  }

  const idle = async (id) => {
    if (!turns.delete(id) || (await parentOf(id))) return // it is said twice, and of subagents too
    const continues = sentOn.delete(id)
    const answer = await judge("session.idle", { session_id: id, prompt: prompts.get(id), continues, unattended })
    if (answer.proceed) {
      sentOn.set(id, answer.proceed)
      client?.session?.prompt?.({ path: { id }, body: { parts: [{ type: "text", text: answer.proceed }] } })?.catch?.(() => {})
    }
  }

  const happened = async (type, about) => {
    const id = about.sessionID ?? about.info?.id
    switch (type) {
      case "session.created":
        parents.set(id, about.info?.parentID)
        if (!about.info?.parentID) await judge(type, { session_id: id })
        break
      case "session.idle":
        await idle(id)
        break
      case "session.compacted":
        await judge(type, await whose(id))
        break
      case "session.error":
        await judge(type, { ...(await whose(id)), error: String(about.error?.name ?? about.error ?? "") })
        break
      case "session.deleted": {
        const parent = about.info?.parentID ?? parents.get(id)
        for (const kept of [prompts, turns, sentOn, parents]) kept.delete(id)
        if (!parent) await judge(type, { session_id: id })
        break
      }
    }
  }

  return {
    config: async (config) => {
      servers = Object.keys(config?.mcp ?? {})
    },

    "tool.execute.before": async (input, output) => {
      await Promise.all(busy)
      const args = output.args ?? {}
      const answer = await judge("tool.execute.before", {
        ...(await whose(input.sessionID)),
        call_id: input.callID,
        tool: input.tool,
        ...(await server(input.tool)),
        arguments: args,
      })
      if (answer.decision) {
        if (answer.decision === "stop") ending.add(nameOf(input))
        throw new Error(answer.reason || "a hook of agentd refused this")
      }
      if (answer.arguments) {
        if (output.args) become(output.args, answer.arguments)
        else output.args = answer.arguments
      }
      running.set(nameOf(input), structuredClone(output.args ?? {}))
    },

    "tool.execute.after": async (input, output) => {
      if (!output) return // it failed, and an event says so
      const name = nameOf(input)
      const part = partOf.get(name)
      const args = input.args ?? running.get(name) ?? {}
      running.delete(name)
      const judged = async () => {
        const answer = await judge("tool.execute.after", {
          ...(await whose(input.sessionID)),
          call_id: input.callID,
          tool: input.tool,
          ...(await server(input.tool)),
          arguments: args,
          output: shownOf(output),
          title: output.title,
          is_error: output.isError === true || undefined,
        })
        if (answer.decision === "stop") ending.add(name)
        const text = changed(answer)
        if (text !== undefined) show(output, text)
        if (!answer.decision && answer.context?.length) append(output, answer.context)
      }
      const done = judged()
        .catch((err) => show(output, `withheld: ${err.message}`))
        .finally(() => {
          if (partOf.get(name) === part) return
          instead.set(part, shownOf(output)) // the turn was ended meanwhile, and OpenCode has kept what there was
          ending.delete(name)
        })
      aside(done, open)
      await done
    },

    "chat.message": async (input, output) => {
      const id = input.sessionID
      await Promise.all(busy) // a session's beginning may have something to say with it
      if (await parentOf(id)) return // a subagent's: the call that started it was judged
      const texts = (output.parts ?? []).filter((part) => part.type === "text" && !part.synthetic)
      const prompt = texts.map((part) => part.text).join("\n")
      prompts.set(id, prompt)
      if (sentOn.has(id)) {
        turns.add(id)
        if (sentOn.get(id) === prompt) return
        sentOn.delete(id) // a person was quicker
      }
      try {
        const answer = await judge("chat.message", {
          session_id: id,
          message_id: input.messageID ?? output.message?.id,
          agent: input.agent,
          prompt,
        })
        if (answer.decision) throw new Error(answer.reason || "a hook of agentd refused this prompt")
        const last = texts.at(-1)
        if (last && answer.context?.length) last.text = [last.text, ...answer.context].join("\n\n")
      } catch (err) {
        turns.delete(id)
        toast(err.message, "error") // OpenCode says that something went wrong, and not what
        throw err
      }
      turns.add(id)
    },

    "experimental.session.compacting": async (input) => {
      const answer = await judge("experimental.session.compacting", await whose(input.sessionID))
      if (!answer.decision) return
      const reason = answer.reason || "a hook of agentd refused this"
      toast(reason, "error")
      throw new Error(reason)
    },

    // Called before each request to a model, with what it is going to be shown.
    "experimental.chat.messages.transform": async (input, output) => {
      await Promise.all(open)
      for (const { info, parts } of output?.messages ?? []) {
        for (const name of ending) if (info && name.startsWith(`${info.sessionID} `) && ending.delete(name)) await abort(info.sessionID)
        for (const part of parts ?? []) {
          if (part.type !== "tool" || part.state?.status !== "error" || !instead.has(part.id)) continue
          part.state.error = instead.get(part.id)
          if (typeof part.state.metadata?.output === "string") part.state.metadata.output = instead.get(part.id)
        }
      }
    },

    event: async ({ event }) => {
      const about = event.properties ?? {}
      if (event.type.startsWith("session.")) aside(happened(event.type, about), busy)
      else if (event.type === "message.part.updated" && about.part?.type === "tool") moved(about.part)
    },

    // OpenCode waits for it before it ends.
    dispose: async () => {
      await Promise.all([...busy, ...open])
    },
  }
}
