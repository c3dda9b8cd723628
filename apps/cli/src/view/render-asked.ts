// Formats the calls of a task that wait for a person, and the commands that answer. A command is never cut: a
// narrow terminal wraps it, and a copy of it is still one line. The command has no call id if only one call
// waits, the call id if several wait, and also the run if ids are equal. A model writes the text of a call,
// so the text is shown as plain text and quoted in commands.
import type { AskedCallAnswer } from '@beaver/contracts'
import { shellWord, visible } from '@beaver/core'
import { agentsOf, type OpenQuestion, type TaskView } from '@beaver/core/task-view'
import { bytes, count } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import type { Style, Symbols } from '../text/style.ts'
import { cutToWidth, textWidth } from '../text/width.ts'
import { wrapText } from '../text/wrap.ts'

/** A call that waits for a decision of a person. */
export interface ShownCall {
  readonly runId: string
  readonly callId: string
  readonly agent: string
  readonly tool: string
  readonly subject: string
  /** What the run has read, if the call needs a decision for that reason. */
  readonly reason?: string
  /** The hash of the call as it is shown. A decision contains this hash. `null`: an older daemon asked. */
  readonly callHash: string | null
  /** What the call would change. `null`: its tool gives no preview. */
  readonly preview: AskedCallAnswer['preview']
}

/** The calls of a task that wait for a decision now, in the order of their agents. */
export const callsAsked = (view: TaskView): ShownCall[] =>
  byAgents(view, view.askedCalls).map(({ runId = '', callId, agent, asked }) => ({
    runId,
    callId,
    agent,
    tool: asked.tool_name,
    subject: asked.subject,
    callHash: asked.call_hash ?? null,
    preview: asked.preview ?? null,
    ...(asked.reason === undefined ? {} : { reason: asked.reason }),
  }))

/** The questions of a task that wait for an answer now, in the order of their agents. */
export const questionsAsked = (view: TaskView): OpenQuestion[] => byAgents(view, view.openQuestions)

/** Sorts by agents. Empty if the task refuses calls that need an approval, because then nobody is asked. */
function byAgents<Asking extends { readonly runId: string | undefined }>(
  view: TaskView,
  asking: readonly Asking[],
): Asking[] {
  if (asking.length === 0 || view.submitted?.request.approvals === 'refuse') return []
  const places = new Map(agentsOf(view).map(({ runId }, place) => [runId, place]))
  const placeOf = ({ runId }: Asking): number => (runId === undefined ? -1 : (places.get(runId) ?? -1))
  return asking.filter((each) => placeOf(each) >= 0).toSorted((a, b) => placeOf(a) - placeOf(b))
}

export interface Asked {
  readonly taskId: string
  /** The command with which a person calls `beaver` here. */
  readonly command: string
  readonly calls: readonly ShownCall[]
}

const shownMax = 3
const subjectLinesMax = 3
const subjectCharsMax = 2_000

type Surface = Readonly<{ columns: number; style: Style; symbols: Symbols }>

/** @param options `whole`: show everything that a call acts on, in as many lines as necessary. Default: false */
export function askedLines(
  asked: Asked,
  surface: Surface,
  options: { readonly whole?: boolean } = {},
): string[] {
  const { taskId, command, calls } = asked
  const { style, symbols } = surface
  const lines = calls
    .slice(0, shownMax)
    .flatMap((call) => [
      ...questionLines(call, surface, options),
      ...answerLines({ taskId, command, name: nameAmong(call, calls) }, surface),
    ])
  const left = calls.length - shownMax
  return left <= 0
    ? lines
    : [...lines, style.dim(`  ${symbols.ellipsis} and ${left} more: ${command} approve ${shellWord(taskId)}`)]
}

/** The lines of a waiting call, such as `? root asks to call run_command: rm -rf build`. */
export function questionLines(
  call: ShownCall,
  { columns, style, symbols }: Surface,
  { whole = false }: { readonly whole?: boolean } = {},
): string[] {
  const wrapped = wrapText(
    `${symbols.asks} ${oneLine(call.agent)} asks to call ${whatIsAsked(call)}`,
    columns,
  )
  const linesMax = whole ? wrapped.length : subjectLinesMax
  const more =
    wrapped.length > linesMax
      ? [cutToWidth(`  ${symbols.ellipsis} (beaver show has it whole)`, columns, symbols.ellipsis)]
      : []
  return [
    ...[...wrapped.slice(0, linesMax), ...more].map(style.yellow),
    ...whyLines(call, columns),
    ...(whole ? previewLines(call, { columns, style }) : []),
  ]
}

function whyLines({ reason }: ShownCall, columns: number): string[] {
  return reason === undefined
    ? []
    : wrapText(`why: ${oneLine(reason, subjectCharsMax)}`, columns - 2)
        .slice(0, subjectLinesMax)
        .map((line) => `  ${line}`)
}

/**
 * What the call would change: the effect, sizes and hashes, and the diff. Hidden characters are shown as
 * escapes, because a person must see the exact text, not its appearance.
 */
export function previewLines(
  { preview, callHash }: Pick<ShownCall, 'preview' | 'callHash'>,
  { columns, style }: Pick<Surface, 'columns' | 'style'>,
): string[] {
  const hash = callHash === null ? [] : [style.dim(`  call hash: ${callHash}`)]
  if (preview === null) return hash
  const { effect, path, bytes: size, sha256, before, diff, diff_lines_left_out: left } = preview
  const was =
    before === null ? 'there is no such file' : `there are ${bytes(before.bytes)}, SHA-256 ${before.sha256}`
  const facts = wrapText(
    `${effect} ${visible(path)}: ${bytes(size)}, SHA-256 ${sha256}; ${was}`,
    columns - 2,
  ).map((line) => `  ${line}`)
  const lines = diff === '' ? [] : diff.split('\n').map((line) => diffLine(visible(line, '\t'), style))
  const more =
    left === 0
      ? []
      : [style.dim(`  ${count(left)} more lines: beaver events <task> --json has the whole content`)]
  return [...facts, ...lines, ...more, ...hash]
}

const diffLine = (line: string, { green, red, dim }: Style): string =>
  `  ${line.startsWith('+') ? green(line) : line.startsWith('-') ? red(line) : dim(line)}`

/**
 * The commands that allow and refuse a call, in one line if there is room.
 *
 * @param name the name of the call in the command; `null` if it is the only call
 */
export function answerLines(
  { taskId, command, name }: { taskId: string; command: string; name: string | null },
  { columns }: Pick<Surface, 'columns'>,
): string[] {
  const typed = `${shellWord(taskId)}${name === null ? '' : ` ${shellWord(name)}`}`
  const both = `  allow: ${command} approve ${typed}   refuse: ${command} deny ${typed}`
  return textWidth(both) <= columns
    ? [both]
    : [`  allow:  ${command} approve ${typed}`, `  refuse: ${command} deny ${typed}`]
}

/** For example `run_command: rm -rf build`. */
export const whatIsAsked = ({ tool, subject }: Pick<ShownCall, 'tool' | 'subject'>): string => {
  const text = oneLine(subject, subjectCharsMax)
  return `${oneLine(tool)}${text === '' ? '' : `: ${text}`}`
}

/** The name of a call that a person must type after the task; `null` if the call is the only one. */
export const nameAmong = (call: ShownCall, calls: readonly ShownCall[]): string | null =>
  calls.length === 1 ? null : nameOf(call, calls)

/** The name of a call in a decision: its id, or `<run>/<call>` if several runs have a call with this id. */
export function nameOf(
  { runId, callId }: Pick<OpenQuestion, 'runId' | 'callId'>,
  calls: readonly Pick<ShownCall, 'callId'>[],
): string {
  return calls.filter((each) => each.callId === callId).length > 1 || callId.includes('/')
    ? `${runId}/${callId}`
    : callId
}
