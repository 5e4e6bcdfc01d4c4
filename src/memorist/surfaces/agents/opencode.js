// memorist in OpenCode. `memorist install opencode` writes this file and `memorist uninstall opencode` removes it; one that you change stays.
//
// It runs `memorist hook opencode EVENT`, JSON in and JSON out, and appends what that answers to your message as a part that the screen does not show.
// Whatever goes wrong there, OpenCode carries on without it.
import { spawn } from "node:child_process"

const LONGEST = 10_000 // milliseconds

// The text it answers with, or null if it did not run to its end.
function hook(event, given) {
  return new Promise((done) => {
    let said = ""
    const child = spawn("memorist", ["hook", "opencode", event], { stdio: ["pipe", "pipe", "ignore"], timeout: LONGEST })
    child.on("error", () => done(null))
    child.stdin.on("error", () => {})
    child.stdout.on("data", (more) => (said += more))
    child.on("close", (code) => {
      if (code !== 0) return done(null)
      try {
        done(JSON.parse(said).hookSpecificOutput.additionalContext)
      } catch {
        done("")
      }
    })
    child.stdin.end(JSON.stringify(given))
  })
}

const typed = (parts) => parts.filter((part) => part.type === "text" && !part.synthetic && part.text)

// One of OpenCode's messages as chat messages: what was said and called, and what the calls returned.
function messages({ info, parts }) {
  const timestamp = new Date(info.time.created).toISOString()
  const calls = parts.filter((part) => part.type === "tool")
  const content = [
    ...typed(parts).map((part) => ({ type: "text", text: part.text })),
    ...calls.map((part) => ({ type: "tool_use", id: part.callID, name: part.tool, input: part.state.input })),
  ]
  const results = calls
    .filter((part) => typeof part.state.output === "string")
    .map((part) => ({ id: part.id, role: "tool", tool_call_id: part.callID, content: part.state.output, timestamp }))
  return content.length ? [{ id: info.id, role: info.role, content, timestamp }, ...results] : []
}

export const Memorist = async ({ client, directory }) => {
  const started = new Set() // sessions that got what applies to every request
  const kept = new Set() // ids of messages that were handed over; an answer may be completed after a later message
  const under = new Set() // work in progress, which has to end before OpenCode does
  const session = async (id) => (await client.session.get({ path: { id } })).data ?? {}

  // Hands over what is new. A fork has the messages of its parent, which are kept already; subagents write nothing.
  async function keep(event, id) {
    const { parentID, time } = await session(id)
    if (parentID) return
    const all = ((await client.session.messages({ path: { id } })).data ?? []).filter(
      ({ info }) => (!time || info.time.created >= time.created) && (info.role === "user" || info.time.completed),
    )
    const fresh = all.filter(({ info }) => !kept.has(info.id))
    const told = await hook(event, { session_id: id, cwd: directory, messages: fresh.flatMap(messages) })
    if (told !== null) fresh.forEach(({ info }) => kept.add(info.id))
  }

  const quietly = (work) => {
    const one = work.catch(() => {}).finally(() => under.delete(one))
    under.add(one)
    return one
  }

  // Once: the session before this one, whose end nobody handed over if OpenCode was killed.
  let before = async (id) => {
    before = async () => {}
    const others = ((await client.session.list()).data ?? []).filter((one) => one.id !== id && !one.parentID)
    const [last] = others.sort((a, b) => b.time.updated - a.time.updated)
    if (last) await keep("session.idle", last.id)
  }

  return {
    "chat.message": async ({ sessionID }, { message, parts }) => {
      const { parentID } = await session(sessionID).catch(() => ({}))
      const prompt = typed(parts).map((part) => part.text).join("\n")
      const events = started.has(sessionID) ? [] : [parentID ? "session.child" : "session.created"]
      started.add(sessionID)
      if (!parentID) events.push("chat.message")
      const last = parts.at(-1)?.id ?? "prt_"
      for (const [at, event] of events.entries()) { // one after the other, so that none repeats the one before
        const text = await hook(event, { session_id: sessionID, cwd: directory, prompt })
        if (text) parts.push({ id: `${last}z${at}`, sessionID, messageID: message.id, type: "text", text, synthetic: true })
      }
      quietly(before(sessionID))
    },
    "experimental.session.compacting": async ({ sessionID }) => {
      await quietly(keep("experimental.session.compacting", sessionID))
    },
    event: async ({ event }) => {
      if (event.type === "session.idle") await quietly(keep("session.idle", event.properties.sessionID))
      if (event.type === "session.compacted") started.delete(event.properties.sessionID)
    },
    dispose: async () => {
      await Promise.all(under)
    },
  }
}
