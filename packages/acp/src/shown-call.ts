// Shows calls of tools and their questions to an editor. Pure. Every text is cut at a bound; the journal has
// the whole text. A person decides by these texts, so hidden characters in them are shown as escapes.
import type {
  ToolCall as ShownCall,
  ToolCallContent,
  ToolCallLocation,
  ToolKind,
} from '@agentclientprotocol/sdk'
import { type DataOf, type ToolCall, visible } from '@beaver/core'
import { questionLines } from '@beaver/core/question'
import type { OpenQuestion } from '@beaver/core/task-view'
import { isAbsolute, join } from 'node:path'

const titleCharsMax = 200
const textCharsMax = 20_000
const inputCharsMax = 20_000
const subjectCharsMax = 4_000

const kinds: Readonly<Record<string, ToolKind>> = {
  read_file: 'read',
  list_files: 'read',
  file_stats: 'read',
  recount_files: 'read',
  skill_view: 'read',
  write_file: 'edit',
  run_command: 'execute',
  web_fetch: 'fetch',
  web_search: 'search',
  session_search: 'search',
}

/** The names of the arguments that describe a call best, the best first. */
const tellingNames = ['path', 'command', 'url', 'query', 'task']

/**
 * A call as the editor shows it before it runs.
 *
 * @param agent the name of a worker; `null` for the root agent
 */
export function shownCall(
  { name, arguments: written }: ToolCall,
  {
    toolCallId,
    agent,
    workspace,
  }: { readonly toolCallId: string; readonly agent: string | null; readonly workspace: string },
): ShownCall & { readonly status: 'pending' } {
  const input = written.length > inputCharsMax ? null : objectIn(written)
  const about = tellingNames.map((each) => input?.[each]).find((value) => typeof value === 'string')
  const title = `${agent === null ? '' : `${agent}: `}${name}${about === undefined ? '' : ` ${about}`}`
  return {
    toolCallId,
    title: cut(visible(title.replaceAll(/\s+/gu, ' ')), titleCharsMax),
    name,
    kind: kinds[name] ?? (name.startsWith('kb:') ? 'search' : 'other'),
    status: 'pending',
    ...(input === null ? {} : { rawInput: input }),
    ...(typeof input?.['path'] === 'string' && name in kinds
      ? { locations: locationOf(input['path'], workspace) }
      : {}),
  }
}

const locationOf = (path: string, workspace: string): ToolCallLocation[] => [
  { path: isAbsolute(path) ? path : join(workspace, path) },
]

export const textContent = (text: string): ToolCallContent[] => [
  { type: 'content', content: { type: 'text', text: cut(text, textCharsMax) } },
]

/** What a person must know to decide about a call. */
export function askedContent(
  { tool_name, subject, reason, preview }: DataOf<'approval_requested'>,
  taskId: string,
): ToolCallContent[] {
  const lines = [
    `${visible(tool_name)}: ${cut(visible(subject, '\n\t'), subjectCharsMax)}`,
    ...(reason === undefined ? [] : [visible(reason)]),
    ...(preview === undefined
      ? []
      : [
          `It would ${visible(preview.effect)} ${visible(preview.path)} (${preview.bytes} bytes).`,
          fenced(visible(preview.diff, '\n\t')),
          ...(preview.diff_lines_left_out === 0
            ? []
            : [`${preview.diff_lines_left_out} more lines: "beaver events <task> --json" has them.`]),
        ]),
    `To change its arguments: beaver approve ${taskId} --edit`,
  ]
  return textContent(lines.filter((line) => line !== '').join('\n\n'))
}

/** The texts of a question. */
export const questionContent = ({ question }: Pick<OpenQuestion, 'question'>): ToolCallContent[] =>
  textContent(questionLines(question).join('\n'))

/**
 * A fenced block of Markdown. Its fence is longer than any in the text, so the text cannot close the block.
 */
function fenced(text: string): string {
  if (text === '') return ''
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}diff\n${text}\n${fence}`
}

function objectIn(json: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}

const cut = (text: string, charsMax: number): string =>
  text.length <= charsMax ? text : `${text.slice(0, charsMax - 1).toWellFormed()}…`
