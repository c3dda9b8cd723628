// What the root agent of a task says and does, as items: a text, or a call of a tool. A fold of the events
// and the live pieces of the task. The journal decides. A live piece is a hint: the text of an item is what
// was told of it live, completed by the journaled answer. What was told cannot be taken back. If a new try of
// a call says something else, its text is an item of its own. Pieces and events come by different ways. A
// piece of an answer that is journaled is ignored; one that comes before the events of its run, of the answer
// before it or of the results of its calls waits for them.
import type { AgentRunResult } from '@beaver/service'
import { type LiveDelta, type RecordedEvent, withoutFence } from '@beaver/core'

/** `final`: whether the text is the answer of the task. `null`: it is not known yet. */
export interface TextItem {
  readonly kind: 'text'
  text: string
  done: boolean
  final: boolean | null
  /** A question in place of an answer that must be JSON. Clients read it as a refusal. */
  readonly refusal?: true
}

export interface CallItem {
  readonly kind: 'call'
  readonly callId: string
  readonly name: string
  readonly arguments: string
  /** `null`: it has none yet. */
  result: { readonly success: boolean; readonly content: string } | null
}

export type OutputItem = TextItem | CallItem

/**
 * What changed, for a reader who follows. `index` is the place of the item, which is shown as it was then.
 */
export type Step =
  | { readonly kind: 'begun' | 'ended'; readonly index: number; readonly item: OutputItem }
  | { readonly kind: 'text'; readonly index: number; readonly delta: string }

const changed = (kind: 'begun' | 'ended', index: number, item: OutputItem): Step => ({
  kind,
  index,
  item: { ...item },
})

export class AgentOutput {
  readonly items: OutputItem[] = []
  #whole: boolean
  readonly #byForm: boolean
  #root: string | null = null
  /** How many answers of the root are journaled. */
  #answers = 0
  #open: { readonly index: number; readonly item: TextItem; broken: boolean } | null = null
  /** Pieces that wait. */
  #later: LiveDelta[] = []

  /**
   * @param options `whole`: only the final text is told, without a fence around it. It is JSON for a program.
   * `byForm`: also if the agent has a form of
   *   its own, which is known when its run starts
   */
  constructor({
    whole = false,
    byForm = false,
  }: { readonly whole?: boolean; readonly byForm?: boolean } = {}) {
    this.#whole = whole
    this.#byForm = byForm
  }

  /** Whether a client gets the final text alone. */
  get whole(): boolean {
    return this.#whole
  }

  piece(piece: LiveDelta): Step[] {
    if (this.#whole || piece.node_id !== null || piece.call <= this.#answers || piece.text === '') return []
    if (
      this.#root === null ||
      piece.call > this.#answers + 1 ||
      this.items.some((item) => item.kind === 'call' && item.result === null)
    ) {
      this.#later.push(piece)
      return []
    }
    if (this.#open === null) return piece.offset === 0 ? [...this.#begin(), ...this.#add(piece.text)] : []
    const { item, broken } = this.#open
    if (broken || piece.offset !== item.text.length) {
      this.#open.broken = true
      return []
    }
    return this.#add(piece.text)
  }

  event({ type, data, runId }: RecordedEvent): Step[] {
    if (type === 'run_started' && data.team_run_id === null && this.#root === null) {
      this.#root = data.run_id
      this.#whole ||= this.#byForm && data.output_schema !== undefined
      return this.#caughtUp()
    }
    if (runId === undefined || runId !== this.#root) return []
    if (type === 'tool_result_recorded') return this.#result(data)
    if (type !== 'assistant_message_added') return []
    this.#answers++
    const final = data.tool_calls.length === 0
    const steps = this.#whole ? [] : this.#said(data.content ?? '', final)
    for (const call of data.tool_calls) {
      const item: CallItem = {
        kind: 'call',
        callId: call.id,
        name: call.name,
        arguments: call.arguments,
        result: null,
      }
      steps.push(changed('begun', this.items.push(item) - 1, item))
    }
    return [...steps, ...this.#caughtUp()]
  }

  /** What was told of the answer that comes now. */
  #caughtUp(): Step[] {
    const later = this.#later
    this.#later = []
    return later.flatMap((piece) => this.piece(piece))
  }

  /** The task has ended: its final text is the last item. */
  end({ output_text: text }: Pick<AgentRunResult, 'output_text'>): Step[] {
    const last = this.items.findLast((item) => item.kind === 'text')
    const there = last?.final === true && last.done && last.text === text
    const answer = this.#whole ? withoutFence(text) : text
    return there || answer === '' ? this.#close() : this.#said(answer, true)
  }

  /** The task asks a question: its text is the last item, for a client that knows only texts. */
  asks(text: string): Step[] {
    const steps = this.#close()
    const item: TextItem = {
      kind: 'text',
      text: '',
      done: false,
      final: null,
      ...(this.#whole ? { refusal: true } : {}),
    }
    const index = this.items.push(item) - 1
    const begun = changed('begun', index, item)
    Object.assign(item, { text, done: true, final: true })
    return [...steps, begun, { kind: 'text', index, delta: text }, changed('ended', index, item)]
  }

  /** Nothing more is told, whether the task has ended or not. */
  #close(): Step[] {
    if (this.#open === null) return []
    const { index, item } = this.#open
    this.#open = null
    Object.assign(item, { done: true, final: false })
    return [changed('ended', index, item)]
  }

  #begin(): Step[] {
    const item: TextItem = { kind: 'text', text: '', done: false, final: null }
    const index = this.items.push(item) - 1
    this.#open = { index, item, broken: false }
    return [changed('begun', index, item)]
  }

  #add(delta: string): Step[] {
    if (this.#open === null || delta === '') return []
    const { index, item } = this.#open
    item.text += delta
    return [{ kind: 'text', index, delta }]
  }

  /** A text is known to its end. */
  #said(text: string, final: boolean): Step[] {
    if (this.#open !== null && !text.startsWith(this.#open.item.text))
      return [...this.#close(), ...this.#said(text, final)]
    if (text === '') return this.#close()
    const steps = [
      ...(this.#open === null ? this.#begin() : []),
      ...this.#add(text.slice(this.#open?.item.text.length ?? 0)),
    ]
    if (this.#open === null) return steps
    const { index, item } = this.#open
    this.#open = null
    Object.assign(item, { done: true, final })
    return [...steps, changed('ended', index, item)]
  }

  #result({
    call_id: callId,
    success,
    content,
  }: {
    readonly call_id: string
    readonly success: boolean
    readonly content: string
  }): Step[] {
    const index = this.items.findLastIndex(
      (item) => item.kind === 'call' && item.callId === callId && item.result === null,
    )
    const item = this.items[index]
    if (item?.kind !== 'call') return []
    item.result = { success, content }
    return [changed('ended', index, item), ...this.#caughtUp()]
  }
}
