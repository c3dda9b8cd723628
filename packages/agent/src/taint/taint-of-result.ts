// The labels of a tool's result, which are recorded with it. They follow from what the tool declares, what
// the call acted on and the text of the result. The model decides nothing about them. What a failed call says
// may be a stranger's text too. Only the words that are Beaver's own have no labels.
import type { Taint, ToolCall } from '@beaver/core'
import { readCallArguments } from '../tools/call-arguments.ts'
import type { ToolResult } from '../tools/execute-tool.ts'
import { subjectOf } from '../tools/permission.ts'
import type { Tool } from '../tools/tool.ts'
import { type EgressRules, holdsSecretText, isSecretPath, isUntrustedPath, pathsIn } from './egress-rules.ts'
import { readsOf, sinkOf } from './tool-kind.ts'

const ownWords: ReadonlySet<string | null> = new Set([
  'tool_not_available',
  'invalid_arguments',
  'tool_timeout',
  'cancelled',
  'in_doubt',
  'not_pure',
])
const sourceCharsMax = 160

/** Returns `null` if the result has no labels: it is the user's own text. */
export function taintOfResult(
  tool: Tool | undefined,
  call: Pick<ToolCall, 'arguments'>,
  result: ToolResult,
  rules: EgressRules,
): Taint | null {
  if (tool === undefined || ownWords.has(result.error)) return null
  const args = readCallArguments(tool.name, call.arguments)
  const subject = args.ok ? shownSubject(tool, args.value) : ''
  const reads = args.ok ? readsOf(tool, args.value) : 'untrusted'
  const paths =
    reads === 'web' || tool.pure === true ? [] : (tool.filesOf?.(result.content) ?? pathsRead(tool, subject))
  const untrusted =
    reads === 'web' || reads === 'untrusted' || paths.some((path) => isUntrustedPath(path, rules))
  const secret =
    reads === 'secret' || paths.some((path) => isSecretPath(path, rules)) || holdsSecretText(result.content)
  if (!untrusted && !secret) return null
  const source = sourceOf(tool, subject)
  return {
    untrusted: untrusted ? [source] : [],
    secret: secret ? [source] : [],
    public: reads === 'web' && !secret,
  }
}

/**
 * A call that writes or sends does not read what it names. Outside of command lines, a word is a path only if
 * it looks like one.
 */
function pathsRead(tool: Tool, subject: string): string[] {
  const sink = sinkOf(tool)
  if (sink === 'command') return pathsIn(subject)
  if (sink !== null) return []
  return pathsIn(subject).filter((path) => path === subject || /[./]/.test(path))
}

function shownSubject(tool: Tool, args: unknown): string {
  try {
    return subjectOf(tool, args)
  } catch {
    return ''
  }
}

/**
 * For people: the tool, and what it acted on if the tool can say it. Nothing in it can move a cursor or
 * change the writing direction.
 */
function sourceOf(tool: Tool, subject: string): string {
  const on = tool.subject === undefined || subject === '' ? '' : ` ${subject}`
  const source = `${tool.name}${on}`.toWellFormed().replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, ' ')
  return source.length > sourceCharsMax ? `${source.slice(0, sourceCharsMax).toWellFormed()}…` : source
}
