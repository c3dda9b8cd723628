// Decides whether a final text is a tool call that the provider did not read as one. Nothing ran, so such a
// text is no result (D-42).
// R1. What counts is what the text is, not what it is about: a call in a fenced block of a longer answer is
// an example. If a text is one fenced block alone, its content is judged. The length of the text bounds the
// time.
import { withoutFence } from '@beaver/core/evidence'
import { closingMark, type Protocol, protocols } from './tool-call-protocols.ts'

/**
 * Returns what kind of call the text is, for a message, or `null` if it is none.
 *
 * @param isTool whether a tool of this name is known
 */
export function rawToolCall(text: string, isTool: (name: string) => boolean): string | null {
  const answerText = withoutFence(text.replace(thoughts, ''))
  const known = (name: string): boolean => isTool(name.replace(/^functions\./, '').replace(/:\d+$/, ''))
  if (isJsonCall(answerText, known)) return 'the JSON of a tool call'
  return isProgramCall(answerText, known) ? 'a function call' : openedCall(answerText, known)
}

const thoughts = /^\s*(?:<(think|thinking|reasoning|seed:think)>[\s\S]*?<\/\1>|\[THINK\][\s\S]*?\[\/THINK\])/

interface Opening {
  readonly protocol: Protocol
  readonly mark: string
  readonly name: string | undefined
  readonly at: number
}

/** At most this many opening marks are judged from the end of the text. */
const openingsMax = 50

/** The kind of call with which the text begins or ends. A call with text on both sides is an example. */
function openedCall(text: string, known: (name: string) => boolean): string | null {
  // Every opening mark has one of these characters, and most answers have none.
  if (!/[<[:]/.test(text)) return null
  const bare = withoutCode(text)
  const openings = protocols
    .flatMap((protocol) =>
      [...bare.matchAll(protocol.opening)].map(({ 0: mark, index: at, groups }): Opening => {
        const name = groups?.['name'] ?? groups?.['attribute']
        return { protocol, mark, name, at }
      }),
    )
    .toSorted((a, b) => a.at - b.at)
  const first = openings.find(
    ({ protocol, name }) => protocol.knownOnly !== true || (name !== undefined && known(name)),
  )
  if (first !== undefined && bare.slice(0, first.at).trim() === '' && holdsCall(first, bare, known))
    return shown(first)
  const last = openings.slice(-openingsMax).findLast((opening) => holdsCall(opening, bare, known))
  return last !== undefined && endsText(last, bare) ? shown(last) : null
}

const shown = ({ protocol, mark }: Opening): string => protocol.shown.replace('$&', () => mark.trim())

/**
 * Whether the text after the mark continues as a call, and the mark does not stand within a sentence that is
 * about it.
 */
function holdsCall(
  { protocol, mark, name, at }: Opening,
  text: string,
  known: (name: string) => boolean,
): boolean {
  const rest = text.slice(at + mark.length)
  const found = protocol.continues.exec(rest)
  if (found === null) return false
  const named = name ?? found.groups?.['name'] ?? namedInJson(rest)
  const isKnown = named !== undefined && known(named)
  if (protocol.knownOnly === true) return isKnown
  return isKnown || /(?:^|\n|[.!?…。！？>\]])[ \t]*$/.test(text.slice(Math.max(0, at - beforeChars), at))
}

/** The text before a mark in which the end of a sentence is looked for. */
const beforeChars = 200

/** The name in the first lines of the JSON of a call. */
const namedInJson = (rest: string): string | undefined =>
  /"(?:name|tool|tool_name)"\s*:\s*"([^"\n]{1,200})"/.exec(rest.slice(0, 500))?.[1]

function endsText({ protocol, mark, at, name }: Opening, text: string): boolean {
  const rest = text.slice(at + mark.length)
  const last = [...rest.matchAll(closingMark)].at(-1)
  const ownEnd = `</${name}>`
  const end = Math.max(
    last === undefined ? 0 : last.index + last[0].length,
    protocol.closed ? rest.lastIndexOf(ownEnd) + ownEnd.length : 0,
  )
  if (last !== undefined || rest.includes(ownEnd)) return rest.slice(end).trim() === ''
  return protocol.closed || afterArguments(rest).trim() === ''
}

/**
 * The text after the arguments with which it begins: everything up to the bracket that closes the first one.
 * Empty if none closes it.
 */
function afterArguments(text: string): string {
  let depth = 0
  let quote = ''
  for (let at = 0; at < text.length; at++) {
    const character = text[at] ?? ''
    if (quote !== '') {
      if (character === '\\') at++
      else if (character === quote) quote = ''
    } else if (depth > 0 && (character === '"' || character === "'")) quote = character
    else if ('{[('.includes(character)) depth++
    else if (
      '}])'.includes(character) &&
      --depth <= 0 &&
      !/^\s*[;,]?\s*(?:[\w.-]+\s*)?[{[(]/.test(text.slice(at + 1, at + 300))
    )
      return text.slice(at + 1)
  }
  return ''
}

/**
 * Accepts `[read_file(path="x"), list_files()]` and `read_file(path="x")`, if the tools are known and there
 * is nothing else.
 */
function isProgramCall(text: string, known: (name: string) => boolean): boolean {
  const trimmed = text.trim()
  const list = trimmed.startsWith('[') && trimmed.endsWith(')]')
  if (!list && !(trimmed.endsWith(')') && /^[\w.-]+\(\s*\w+\s*=/.test(trimmed))) return false
  const [, name = ''] = /^\[?\s*([A-Za-z_][\w.-]{0,199})\(/.exec(trimmed) ?? []
  return name !== '' && known(name)
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
      return text.split(/;?\s*\n\s*|;\s*(?=\{)/).map((line): unknown => JSON.parse(line))
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

/**
 * Accepts a known tool's name and arguments, without any field that would make it a record about something.
 */
function isCall(value: unknown, isTool: (name: string) => boolean): boolean {
  const parts = callParts(value)
  return parts !== null && parts.hasArguments && parts.bare && isTool(parts.name)
}

function callParts(value: unknown): { name: string; hasArguments: boolean; bare: boolean } | null {
  if (!isRecord(value)) return null
  const inner = value['function']
  if (isRecord(inner)) return callParts(inner)
  const name = nameFields.map((field) => value[field]).find((each) => typeof each === 'string')
  if (name === undefined) return null
  const callArguments = argumentFields.map((field) => value[field]).find((each) => each !== undefined)
  return {
    name,
    hasArguments: isRecord(callArguments) || typeof callArguments === 'string',
    bare: Object.keys(value).every((field) => besideFields.has(field)),
  }
}

/** Blanks fenced blocks and inline code, because their content is shown, not done. */
function withoutCode(text: string): string {
  const lines: string[] = []
  let fence = ''
  for (const line of text.split('\n')) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? ''
    if (fence === '' && mark !== '') fence = mark
    else if (fence !== '' && mark.startsWith(fence) && /^[ `~]+(?:<[|｜]|$)/.test(line.trimEnd())) {
      fence = ''
      // DeepSeek closes the fence and the call in one line.
      lines.push(line.replace(/^[ `~]+/, '`code`'))
      continue
    } else if (fence === '') {
      lines.push(line.replace(/(`+)[^`]*\1/g, '`code`'))
      continue
    }
    lines.push('`code`')
  }
  return lines.join('\n')
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
