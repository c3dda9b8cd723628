// The calls of a task that wait for a person, and the commands that answer. A command is complete, and never
// cut: a terminal that is too narrow wraps it, and what is copied is still one line. If one call waits, the
// command needs no id; if several wait, it has the id; if ids are equal, it has the run too. A model writes
// what is asked, so it is shown as plain text, and a command quotes it.
import type { AskedCallAnswer } from '@beaver/contracts'
import { agentsOf, type OpenQuestion, type TaskView, visible } from '@beaver/core'
import { bytes, count } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { shellWord } from '../text/shell-word.ts'
import type { Style, Symbols } from '../text/style.ts'
import { cutToWidth, textWidth } from '../text/width.ts'
import { wrapText } from '../text/wrap.ts'

/** A call that a person is asked about. */
export interface ShownCall {
  readonly runId: string
  readonly callId: string
  readonly agent: string
  readonly tool: string
  readonly subject: string
  /** What the run has read, if the call asks because of it. */
  readonly reason?: string
  /** The hash of what is shown. A decision names it. `null`: an older daemon asked. */
  readonly callHash: string | null
  /** What the call would change. `null`: its tool cannot say it. */
  readonly preview: AskedCallAnswer['preview']
}

/** The calls of a task that a person is asked about now, in the order of their agents. */
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

/** What calls of a task ask a person now, in the order of their agents. */
export const questionsAsked = (view: TaskView): OpenQuestion[] => byAgents(view, view.openQuestions)

/** Nobody is asked if calls that need an approval are refused. */
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
  /** How a person calls `beaver` here. */
  readonly command: string
  readonly calls: readonly ShownCall[]
}

const shownMax = 3
const subjectLinesMax = 3
const subjectCharsMax = 2_000

type Surface = Readonly<{ columns: number; style: Style; symbols: Symbols }>

/** @param of `whole`: show all of what a call acts on, however many lines it takes */
export function askedLines(asked: Asked, surface: Surface, of: { readonly whole?: boolean } = {}): string[] {
  const { taskId, command, calls } = asked
  const { style, symbols } = surface
  const lines = calls
    .slice(0, shownMax)
    .flatMap((call) => [
      ...questionLines(call, surface, of),
      ...answerLines({ taskId, command, name: nameAmong(call, calls) }, surface),
    ])
  const left = calls.length - shownMax
  return left <= 0
    ? lines
    : [...lines, style.dim(`  ${symbols.ellipsis} and ${left} more: ${command} approve ${shellWord(taskId)}`)]
}

/** For example `? root asks to call run_command: rm -rf build`. */
export function questionLines(
  call: ShownCall,
  { columns, style, symbols }: Surface,
  { whole = false }: { readonly whole?: boolean } = {},
): string[] {
  const said = wrapText(`${symbols.asks} ${oneLine(call.agent)} asks to call ${whatIsAsked(call)}`, columns)
  const linesMax = whole ? said.length : subjectLinesMax
  const more =
    said.length > linesMax
      ? [cutToWidth(`  ${symbols.ellipsis} (beaver show has it whole)`, columns, symbols.ellipsis)]
      : []
  return [
    ...[...said.slice(0, linesMax), ...more].map(style.yellow),
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
 * escapes, because a person decides about what the text is, not about what it looks like.
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
 * @param name `null`: it is the only call
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

/** What a person has to type besides the task. `null`: nothing. */
export const nameAmong = (call: ShownCall, calls: readonly ShownCall[]): string | null =>
  calls.length === 1 ? null : nameOf(call, calls)

/** The name of a call in a decision: its id, or `<run>/<call>` if several runs have a call with that id. */
export function nameOf(
  { runId, callId }: Pick<OpenQuestion, 'runId' | 'callId'>,
  calls: readonly Pick<ShownCall, 'callId'>[],
): string {
  return calls.filter((each) => each.callId === callId).length > 1 || callId.includes('/')
    ? `${runId}/${callId}`
    : callId
}
