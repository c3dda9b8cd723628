// Decides whether a final text is a tool call that the provider did not read as one. Nothing ran, so such a text is no result (D-42).
// R1. What counts is what the text is, not what it is about: a call in a fenced block of a longer answer is an example.
// R2. If a text is one fenced block and nothing else, the content of the block is judged.
// R3. Pure. The length of the text bounds the time.
import { withoutFence } from '@beaver/core'

/**
 * Returns what kind of call the text is, for a message, or `null` if it is none.
 *
 * @param isTool whether a tool of this name is known
 */
export function rawToolCall(text: string, isTool: (name: string) => boolean): string | null {
  const said = withoutFence(text.replace(/^\s*<(think|thinking)>[\s\S]*?<\/\1>/, ''))
  return openedCall(said) ?? (isJsonCall(said, isTool) ? 'the JSON of a tool call' : null)
}

const opening = /^[ \t]*(?:<(?<tag>tool_call|tool_calls|function_call|function_calls)>|<\|\[REQUEST_TOOL\]\|>)/gm

/** The kind of call with which the text begins or ends. A call with text on both sides is an example. */
function openedCall(text: string): string | null {
  const bare = withoutCode(text)
  const openings = [...bare.matchAll(opening)].map((match) => ({
    tag: match.groups?.['tag'],
    at: match.index,
    rest: bare.slice(match.index + match[0].length),
  }))
  const [first, last] = [openings[0], openings.at(-1)]
  const call = first?.at === 0 && holdsCall(first) ? first : last !== undefined && holdsCall(last) && endsText(last) ? last : null
  return call === null ? null : call.tag === undefined ? 'the <|[REQUEST_TOOL]|> protocol' : `a <${call.tag}> element`
}

interface Opening {
  readonly tag: string | undefined
  /** The text after the opening mark. */
  readonly rest: string
}

/** A call continues with JSON, with another element, or with a name alone on the line. Prose about the mark does not. */
function holdsCall({ tag, rest }: Opening): boolean {
  return (tag === undefined ? /^[ \t]*(?:[{[<\n]|$)/ : /^\s*(?:[{[<]|[\w.:-]+[ \t]*(?:\n|[({<]))/).test(rest)
}

function endsText({ tag, rest }: Opening): boolean {
  const closing = tag === undefined ? /<\|\[[^\]\n]{1,40}\]\|>/g : /<\/(?:tool_calls?|function_calls?)>/g
  const last = [...rest.matchAll(closing)].at(-1)
  return last === undefined || rest.slice(last.index + last[0].length).trim() === ''
}

const nameFields = ['name', 'tool', 'tool_name', 'function', 'function_name', 'action', 'recipient_name']
const argumentFields = ['arguments', 'parameters', 'args', 'input', 'tool_input', 'tool_args', 'action_input']
const besideFields = new Set([...nameFields, ...argumentFields, 'id', 'call_id', 'type', 'index'])

function isJsonCall(text: string, isTool: (name: string) => boolean): boolean {
  if (!/^[{[]/.test(text)) return false
  const values = parsedLines(text)
  return values.length > 0 && values.flat().every((value) => holdsCalls(value) || isCall(value, isTool))
}

/** Parses one JSON value, or one JSON value on each line. */
function parsedLines(text: string): unknown[] {
  try {
    return [JSON.parse(text)]
  } catch {
    try {
      return text.split(/;?\s*\n\s*/).map((line): unknown => JSON.parse(line))
    } catch {
      return []
    }
  }
}

/** Accepts `{"tool_calls": [...]}` with calls in it. A number or a list of names under that key is data. */
function holdsCalls(value: unknown): boolean {
  if (!isRecord(value)) return false
  const calls = value['tool_calls']
  return Array.isArray(calls) && calls.length > 0 && calls.every((call) => callParts(call) !== null)
}

/** Accepts a known tool's name and arguments, without any field that would make it a record about something. */
function isCall(value: unknown, isTool: (name: string) => boolean): boolean {
  const parts = callParts(value)
  return parts !== null && parts.hasArguments && parts.bare && isTool(parts.name.replace(/^functions\./, ''))
}

function callParts(value: unknown): { name: string; hasArguments: boolean; bare: boolean } | null {
  if (!isRecord(value)) return null
  const inner = value['function']
  if (isRecord(inner)) return callParts(inner)
  const name = nameFields.map((field) => value[field]).find((each) => typeof each === 'string')
  if (name === undefined) return null
  const given = argumentFields.map((field) => value[field]).find((each) => each !== undefined)
  return { name, hasArguments: isRecord(given) || typeof given === 'string', bare: Object.keys(value).every((field) => besideFields.has(field)) }
}

/** Blanks fenced blocks and inline code, because their content is shown, not done. */
function withoutCode(text: string): string {
  const lines: string[] = []
  let fence = ''
  for (const line of text.split('\n')) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? ''
    if (fence === '' && mark !== '') fence = mark
    else if (fence !== '' && mark.startsWith(fence) && line.trim() === mark) fence = ''
    else if (fence === '') {
      lines.push(line.replace(/(`+)[^`]*\1/g, '`code`'))
      continue
    }
    lines.push('`code`')
  }
  return lines.join('\n')
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null && !Array.isArray(value)
