// Reads chat messages as a conversation: who asked for what, and what was done so far.
import type { ToolSchema } from '@beaver/agent'
import type { ChatMessage } from '@beaver/core'
import type { Conversation, MadeCall, WorkOrder } from './habit.ts'

export function readConversation(
  messages: readonly ChatMessage[],
  tools: readonly ToolSchema[],
): Conversation {
  const skills: { name: string; body: string }[] = []
  let own = ''
  let userText = ''
  let order: WorkOrder | null = null
  let calls: { id: string; call: MadeCall }[] = []
  for (const message of messages) {
    if (message.role === 'system') own = ownIn(message.content)
    else if (message.role === 'user') {
      const skill = readSkill(message.content)
      if (skill !== null) {
        skills.push(skill)
        continue
      }
      // A worker's order is valid until the next one.
      const ordered = readWorkOrder(message.content)
      if (ordered === null && order !== null) continue
      userText = message.content
      order = ordered
      calls = []
    } else if (message.role === 'assistant') {
      for (const { id, name, arguments: args } of message.tool_calls ?? [])
        calls.push({ id, call: { name, arguments: args, result: null } })
    } else if (message.role === 'tool') {
      const open = calls.find(({ id, call }) => id === message.tool_call_id && call.result === null)
      if (open !== undefined) open.call = { ...open.call, result: message.content }
    }
  }
  return {
    skills,
    own,
    userText,
    order,
    calls: calls.map(({ call }) => call),
    tools,
    callId: (index) => `call_${messages.length}_${index}`,
  }
}

const ownIn = (prompt: string): string =>
  /(?:^|\n)# You\n([\s\S]*?)(?=\n\n# |$)/.exec(prompt)?.[1]?.trim() ?? ''

function readSkill(text: string): { name: string; body: string } | null {
  const match =
    /^<activated_skill name=("(?:[^"\\]|\\.)*")( mark="\w+")?>\n([\s\S]*)\n<\/activated_skill\2>\s*$/.exec(
      text,
    )
  return match === null ? null : { name: stringOf(parseJson(match[1] ?? '')), body: match[3] ?? '' }
}

/** The sections of a worker's message. `null` for any other message. */
function readWorkOrder(text: string): WorkOrder | null {
  const dependencies: { from: string; text: string }[] = []
  const sections = new Map<string, string>()
  let open: { tag: string; mark: string; from: string; lines: string[] } | null = null
  for (const line of text.split('\n')) {
    if (open !== null) {
      if (line !== `</${open.tag}${open.mark}>`) {
        open.lines.push(line)
        continue
      }
      const content = open.lines.join('\n')
      if (open.tag === 'dependency_output') dependencies.push({ from: open.from, text: content })
      else if (!sections.has(open.tag)) sections.set(open.tag, content)
      open = null
      continue
    }
    const start =
      /^<(task|instruction|dependency_output|required_evidence)(?: from=("(?:[^"\\]|\\.)*"))?( mark="\w+")?>$/.exec(
        line,
      )
    if (start !== null)
      open = {
        tag: start[1] ?? '',
        mark: start[3] ?? '',
        from: stringOf(parseJson(start[2] ?? '""')),
        lines: [],
      }
  }
  const instruction = sections.get('instruction')
  if (instruction === undefined) return null
  return {
    task: sections.get('task') ?? '',
    instruction: instruction.replaceAll(/<\/?value mark="\w+">/g, ''),
    dependencies,
    evidence: sections.get('required_evidence') ?? '',
  }
}

/** `undefined` if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The code and message of a failed tool call. `null` for any other result. */
export function failureIn(result: string): { code: string; message: string } | null {
  const value = parseJson(result)
  if (typeof value !== 'object' || value === null) return null
  const { error, message } = value as { error?: unknown; message?: unknown }
  return typeof error === 'string' && typeof message === 'string' ? { code: error, message } : null
}

const stringOf = (value: unknown): string => (typeof value === 'string' ? value : '')
