// What the root agent of a task says and does, as items: a text, or a call of a tool. It folds events and
// live pieces. The journal decides, and a live piece is a hint: the journaled answer completes a text that
// was told live. Told text cannot be taken back, so a new try that says something else gets an item of its
// own. A piece of a journaled answer is ignored; a piece that is early waits for the events before it.
// A call of a tool of the client becomes an item when it waits for the client. If it never does, because its
// arguments do not fit, it becomes an item with its result.
import { withoutFence } from '../evidence/output-text.ts'
import type { RecordedEvent } from '../journal/record.ts'
import type { LiveDelta } from '../ports/live-output.ts'

/** A text of the root agent. `final`: whether the text is the answer of the task. `null`: it is not known yet. */
export interface TextItem {
  readonly kind: 'text'
  text: string
  done: boolean
  final: boolean | null
  /** A question in place of an answer that must be JSON. Clients read it as a refusal. */
  readonly refusal?: true
}

/** A call of a tool by the root agent. */
export interface CallItem {
  readonly kind: 'call'
  readonly callId: string
  readonly name: string
  readonly arguments: string
  /**
   * The place of `client_call_requested` in the log of the task. Absent: the call did not wait for the client.
   */
  readonly requestedAt?: number
  /** `null`: it has none yet. */
  result: { readonly success: boolean; readonly content: string } | null
}

/** One thing that the root agent said or did. */
export type OutputItem = TextItem | CallItem

/**
 * What changed, for a reader who follows. `index` is the place of the item, which is shown as it was then.
 */
export type OutputChange =
  | { readonly kind: 'begun' | 'ended'; readonly index: number; readonly item: OutputItem }
  | { readonly kind: 'text'; readonly index: number; readonly delta: string }

export interface OutputOptions {
  /** Whether only the final text is told, without a fence around it: it is JSON for a program. */
  readonly whole?: boolean
  /** Whether it is told so also if the agent has a form of its own, which is known when its run starts. */
  readonly byForm?: boolean
}

/** What the root agent said and did so far. */
export interface OutputView {
  readonly items: OutputItem[]
  whole: boolean
  readonly byForm: boolean
  /** The run of the root agent. `null`: none has begun. */
  root: string | null
  /** How many answers of the root agent are journaled. */
  answers: number
  /** The names of the tools of the client. */
  clientTools: ReadonlySet<string>
  /** The calls of the client's tools in the newest answer that are not items yet. */
  unasked: readonly CallItem[]
  open: { readonly index: number; readonly item: TextItem; broken: boolean } | null
  /** Pieces that wait. */
  early: LiveDelta[]
}

export const newOutput = ({ whole = false, byForm = false }: OutputOptions): OutputView => ({
  items: [],
  whole,
  byForm,
  root: null,
  answers: 0,
  clientTools: new Set(),
  unasked: [],
  open: null,
  early: [],
})

export function addPiece(output: OutputView, piece: LiveDelta): OutputChange[] {
  if (output.whole || piece.node_id !== null || piece.call <= output.answers || piece.text === '') return []
  if (
    output.root === null ||
    piece.call > output.answers + 1 ||
    output.items.some((item) => item.kind === 'call' && item.result === null)
  ) {
    output.early.push(piece)
    return []
  }
  if (output.open === null) return piece.offset === 0 ? [...begin(output), ...add(output, piece.text)] : []
  const { item, broken } = output.open
  if (broken || piece.offset !== item.text.length) {
    output.open.broken = true
    return []
  }
  return add(output, piece.text)
}

export function evolveOutput(
  output: OutputView,
  { type, data, runId, taskseq }: RecordedEvent,
): OutputChange[] {
  if (type === 'task_submitted')
    output.clientTools = new Set(data.request.client_tools?.map(({ name }) => name))
  if (type === 'run_started' && data.team_run_id === null && output.root === null) {
    output.root = data.run_id
    output.whole ||= output.byForm && data.output_schema !== undefined
    return caughtUp(output)
  }
  if (runId === undefined || runId !== output.root) return []
  if (type === 'client_call_requested') return asked(output, data.call_id, { requestedAt: taskseq })
  if (type === 'tool_result_recorded')
    return [...asked(output, data.call_id), ...resultRecorded(output, data)]
  if (type !== 'assistant_message_added') return []
  output.answers++
  const final = data.tool_calls.length === 0
  const changes = output.whole ? [] : completeText(output, data.content ?? '', final)
  const calls = data.tool_calls.map(({ id, name, arguments: written }): CallItem => ({
    kind: 'call',
    callId: id,
    name,
    arguments: written,
    result: null,
  }))
  output.unasked = calls.filter(({ name }) => output.clientTools.has(name))
  for (const call of calls) if (!output.clientTools.has(call.name)) changes.push(...addCall(output, call))
  return [...changes, ...caughtUp(output)]
}

/** The task has ended: its final text is the last item. */
export function endOutput(output: OutputView, text: string): OutputChange[] {
  const last = output.items.findLast((item) => item.kind === 'text')
  const there = last?.final === true && last.done && last.text === text
  const answer = output.whole ? withoutFence(text) : text
  return there || answer === '' ? close(output) : completeText(output, answer, true)
}

/**
 * The task asks a question: its text is the last item, for a client that knows only texts.
 *
 * @example
 * const { output } = newTaskView()
 * askInOutput(output, 'Which?').map(({ kind }) => kind) // => ['begun', 'text', 'ended']
 */
export function askInOutput(output: OutputView, text: string): OutputChange[] {
  const changes = close(output)
  const refusal = output.whole ? { refusal: true as const } : {}
  const item: TextItem = { kind: 'text', text: '', done: false, final: null, ...refusal }
  const index = output.items.push(item) - 1
  const begun = changed('begun', index, item)
  Object.assign(item, { text, done: true, final: true })
  return [...changes, begun, { kind: 'text', index, delta: text }, changed('ended', index, item)]
}

const changed = (kind: 'begun' | 'ended', index: number, item: OutputItem): OutputChange => ({
  kind,
  index,
  item: { ...item },
})

/** What was told of the answer that comes now. */
function caughtUp(output: OutputView): OutputChange[] {
  const { early } = output
  output.early = []
  return early.flatMap((piece) => addPiece(output, piece))
}

/** Nothing more is told, whether the task has ended or not. */
function close(output: OutputView): OutputChange[] {
  if (output.open === null) return []
  const { index, item } = output.open
  output.open = null
  Object.assign(item, { done: true, final: false })
  return [changed('ended', index, item)]
}

function begin(output: OutputView): OutputChange[] {
  const item: TextItem = { kind: 'text', text: '', done: false, final: null }
  const index = output.items.push(item) - 1
  output.open = { index, item, broken: false }
  return [changed('begun', index, item)]
}

function add({ open }: OutputView, delta: string): OutputChange[] {
  if (open === null || delta === '') return []
  open.item.text += delta
  return [{ kind: 'text', index: open.index, delta }]
}

/** A text is known to its end. */
function completeText(output: OutputView, text: string, final: boolean): OutputChange[] {
  if (output.open !== null && !text.startsWith(output.open.item.text))
    return [...close(output), ...completeText(output, text, final)]
  if (text === '') return close(output)
  const changes = [
    ...(output.open === null ? begin(output) : []),
    ...add(output, text.slice(output.open?.item.text.length ?? 0)),
  ]
  if (output.open === null) return changes
  const { index, item } = output.open
  output.open = null
  Object.assign(item, { done: true, final })
  return [...changes, changed('ended', index, item)]
}

function addCall(output: OutputView, item: CallItem): OutputChange[] {
  return [changed('begun', output.items.push(item) - 1, item)]
}

/** A call of a tool of the client becomes an item. */
function asked(output: OutputView, callId: string, when: Pick<CallItem, 'requestedAt'> = {}): OutputChange[] {
  const call = output.unasked.find((each) => each.callId === callId)
  if (call === undefined) return []
  output.unasked = output.unasked.filter((each) => each !== call)
  return addCall(output, { ...call, ...when })
}

function resultRecorded(
  output: OutputView,
  {
    call_id: callId,
    success,
    content,
  }: { readonly call_id: string; readonly success: boolean; readonly content: string },
): OutputChange[] {
  const index = output.items.findLastIndex(
    (item) => item.kind === 'call' && item.callId === callId && item.result === null,
  )
  const item = output.items[index]
  if (item?.kind !== 'call') return []
  item.result = { success, content }
  return [changed('ended', index, item), ...caughtUp(output)]
}
