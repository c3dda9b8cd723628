// Translates the events of one task into the updates that an editor gets.
// - The same events give the same updates with the same ids, so a session that is loaded again looks as it
//   did live.
// - Events that a retry copied from the old task give no updates.
// - Every call that the editor got gets an end, at the latest with the task.
import type { Plan, PlanEntry, SessionUpdate } from '@agentclientprotocol/sdk'
import {
  type DataOf,
  type EventType,
  isProgress,
  isTerminalTaskEvent,
  type LiveProgress,
  type LiveUpdate,
  progressText,
  type ToolCall,
  visible,
} from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import {
  type AgentView,
  type AskedCall,
  type BudgetAsk,
  budgetAsks,
  evolveTaskView,
  evolveTaskViewLive,
  newTaskView,
  type OpenQuestion,
  operatorGives,
  type OutputChange,
  type TaskView,
  type TaskViewEnd,
} from '@beaver/core/task-view'
import { askedContent, questionContent, shownCall, textContent } from './shown-call.ts'

/** A call that waits for a person. */
export interface ShownCall extends AskedCall {
  readonly toolCallId: string
  readonly title: string
}

/** A question of a call that waits for an answer. */
export interface ShownQuestion extends OpenQuestion {
  readonly toolCallId: string
}

/** A budget in which the task waits for more. */
export interface ShownBudget extends BudgetAsk {
  readonly toolCallId: string
  readonly title: string
}

/**
 * One change for the turn. `asked`: a call waits for a decision. `decided`: the call no longer waits.
 * `question`: a question waits. `settled`: the question no longer waits. `short`: a budget has no place.
 * `placed`: nobody is asked for this budget any more.
 */
export type TurnChange =
  | { readonly update: SessionUpdate }
  | { readonly asked: ShownCall }
  | { readonly decided: { readonly toolCallId: string } }
  | { readonly question: ShownQuestion }
  | { readonly settled: { readonly taskseq: number } }
  | { readonly short: ShownBudget }
  | { readonly placed: ShownBudget }
  | { readonly end: TaskViewEnd }

/** How many updates of progress are kept until the event of their call comes. */
const earlyMax = 100

interface CallOfEditor {
  readonly toolCallId: string
  readonly title: string
  ended: boolean
}

export class TurnUpdates {
  readonly #taskId: string
  readonly #view = newTaskView()
  readonly #calls = new Map<string, CallOfEditor>()
  readonly #early = new Map<string, LiveProgress>()
  #plan = ''
  #callsShown = 0
  #copiedTo = 0

  constructor(taskId: string) {
    this.#taskId = taskId
  }

  get ended(): boolean {
    return this.#view.end !== null
  }

  /** The questions that wait, oldest first. */
  get questions(): readonly ShownQuestion[] {
    return this.#view.openQuestions.flatMap((each) => this.#shownQuestion(each))
  }

  /** The budgets in which the task waits for more. */
  get budgets(): readonly ShownBudget[] {
    return budgetAsks(this.#view).map((ask) => this.#shownBudget(ask))
  }

  live(update: LiveUpdate): TurnChange[] {
    return isProgress(update) ? this.#progress(update) : this.#said(evolveTaskViewLive(this.#view, update))
  }

  /**
   * Shows the progress of a call until the call has a result, except while the call asks a question. If the
   * event of the call has not come yet, the update is kept for it.
   */
  #progress(update: LiveProgress): TurnChange[] {
    const { run_id: runId, call_id: callId } = update
    const key = keyOf(runId, callId)
    if (!this.#calls.has(key) && this.#early.size < earlyMax) this.#early.set(key, update)
    if (this.#view.openQuestions.some((each) => each.runId === runId && each.callId === callId)) return []
    return this.#callUpdate(runId, callId, {
      status: 'in_progress',
      content: textContent(progressText(update)),
    })
  }

  event(event: RecordedEvent): TurnChange[] {
    if (event.type === 'task_log_copied') this.#copiedTo = event.taskseq + event.data.events
    const { openQuestions, budgetWaits } = this.#view
    const output = evolveTaskView(this.#view, event)
    const changes = [
      ...this.#budgets(budgetAsks({ budgetWaits })),
      ...this.#tell(event, output),
      ...this.#asks(openQuestions),
    ]
    return event.taskseq > this.#copiedTo ? changes : []
  }

  #tell({ type, data, runId = '' }: RecordedEvent, output: readonly OutputChange[]): TurnChange[] {
    const changes = [...(ofPlan.has(type) ? this.#planned() : []), ...this.#said(output)]
    switch (type) {
      case 'user_message_added':
        return data.steer_request_id === undefined
          ? changes
          : [...changes, updating(userText(data.content, `${this.#taskId}.${data.steer_request_id}`))]
      case 'assistant_message_added':
        return [...changes, ...data.tool_calls.map((call) => this.#call(call, runId))]
      case 'tool_call_requested':
        return [...changes, this.#call(data.call, runId)]
      case 'tool_call_started':
        return [...changes, ...this.#started(runId, data.call_id)]
      case 'tool_result_recorded':
        return [...changes, ...this.#result(runId, data)]
      case 'approval_requested':
        return [...changes, ...this.#asked(runId, data)]
      case 'client_call_requested':
        return [
          ...changes,
          ...this.#callUpdate(runId, data.call_id, {
            content: textContent(
              'This call waits for the client that brought the tool. The editor cannot make it.',
            ),
          }),
        ]
      case 'approval_granted':
      case 'approval_denied':
        return [...changes, ...this.#decided(runId, data.call_id)]
      default:
        return isTerminalTaskEvent(type) ? [...changes, ...this.#end()] : changes
    }
  }

  #planned(): TurnChange[] {
    const plan = planOf(this.#view)
    const text = JSON.stringify(plan)
    if (text === this.#plan) return []
    this.#plan = text
    return [updating({ sessionUpdate: 'plan', ...plan })]
  }

  /** The changes of the questions by an event. `before`: the questions that were open before it. */
  #asks(before: readonly OpenQuestion[]): TurnChange[] {
    const now = this.#view.openQuestions
    if (now === before) return []
    const gone = before.filter((each) => !now.includes(each)).map(({ taskseq }) => ({ settled: { taskseq } }))
    const begun = now.filter((each) => !before.includes(each))
    const asked = begun.flatMap((each) => [
      ...this.#callUpdate(each.runId ?? '', each.callId, { content: questionContent(each) }),
      ...this.#shownQuestion(each).map((question) => ({ question })),
    ])
    return [...gone, ...asked]
  }

  /** The changes of what is asked for budgets, each shown as a call. `before`: what was asked before the event. */
  #budgets(before: readonly BudgetAsk[]): TurnChange[] {
    const now = budgetAsks(this.#view)
    const isIn = ({ key }: BudgetAsk, all: readonly BudgetAsk[]): boolean =>
      all.some((each) => each.key === key)
    const over = before.filter((each) => !isIn(each, now)).map((each) => this.#shownBudget(each))
    const begun = now.filter((each) => !isIn(each, before)).map((each) => this.#shownBudget(each))
    return [
      ...over.flatMap((placed) => [
        updating({
          sessionUpdate: 'tool_call_update',
          toolCallId: placed.toolCallId,
          status: this.#view.end === null ? 'completed' : 'failed',
        }),
        { placed },
      ]),
      ...begun.flatMap((short) => [
        updating({
          sessionUpdate: 'tool_call',
          toolCallId: short.toolCallId,
          title: short.title,
          kind: 'other',
          status: 'pending',
          ...(short.shared ? { content: textContent(operatorGives(short.exceeded.budget)) } : {}),
        }),
        { short },
      ]),
    ]
  }

  #shownBudget(ask: BudgetAsk): ShownBudget {
    const { taskseq, exceeded, reason } = ask
    const toolCallId = `${this.#taskId}/budget/${taskseq}/${exceeded.limit}`
    return { ...ask, toolCallId, title: `The task waits: ${visible(reason)}` }
  }

  #shownQuestion(each: OpenQuestion): ShownQuestion[] {
    const shown = this.#calls.get(keyOf(each.runId ?? '', each.callId))
    return shown === undefined ? [] : [{ ...each, toolCallId: shown.toolCallId }]
  }

  #said(changes: readonly OutputChange[]): TurnChange[] {
    return changes.flatMap((change) =>
      change.kind === 'text'
        ? [
            updating({
              sessionUpdate: 'agent_message_chunk',
              messageId: `${this.#taskId}.${change.index}`,
              content: { type: 'text', text: change.delta },
            }),
          ]
        : [],
    )
  }

  #call(call: ToolCall, runId: string): TurnChange {
    const toolCallId = `${this.#taskId}/${++this.#callsShown}`
    const { byRun, root, submitted } = this.#view
    const agent = byRun.get(runId)
    const shown = shownCall(call, {
      toolCallId,
      agent: agent === root ? null : (agent?.agentName ?? null),
      workspace: submitted?.request.workspace ?? '',
    })
    this.#calls.set(keyOf(runId, call.id), { toolCallId, title: shown.title, ended: false })
    return updating({ sessionUpdate: 'tool_call', ...shown })
  }

  #started(runId: string, callId: string): TurnChange[] {
    const key = keyOf(runId, callId)
    const early = this.#early.get(key)
    this.#early.delete(key)
    return [
      ...this.#callUpdate(runId, callId, { status: 'in_progress' }),
      ...(early === undefined ? [] : this.#progress(early)),
    ]
  }

  #callUpdate(runId: string, callId: string, change: object): TurnChange[] {
    const shown = this.#calls.get(keyOf(runId, callId))
    return shown === undefined || shown.ended
      ? []
      : [updating({ sessionUpdate: 'tool_call_update', toolCallId: shown.toolCallId, ...change })]
  }

  #result(
    runId: string,
    { call_id: callId, success, content }: DataOf<'tool_result_recorded'>,
  ): TurnChange[] {
    const changes = this.#callUpdate(runId, callId, {
      status: success ? 'completed' : 'failed',
      content: textContent(content),
    })
    const shown = this.#calls.get(keyOf(runId, callId))
    if (shown !== undefined) shown.ended = true
    return changes
  }

  #asked(runId: string, asked: DataOf<'approval_requested'>): TurnChange[] {
    const shown = this.#calls.get(keyOf(runId, asked.call_id))
    const call = this.#view.askedCalls.at(-1)
    if (shown === undefined || call === undefined) return []
    const { toolCallId, title } = shown
    return [
      ...this.#callUpdate(runId, asked.call_id, { content: askedContent(asked, this.#taskId) }),
      { asked: { ...call, toolCallId, title } },
    ]
  }

  #decided(runId: string, callId: string): TurnChange[] {
    const shown = this.#calls.get(keyOf(runId, callId))
    return shown === undefined ? [] : [{ decided: { toolCallId: shown.toolCallId } }]
  }

  #end(): TurnChange[] {
    const { end } = this.#view
    const open = [...this.#calls.values()].filter(({ ended }) => !ended)
    for (const call of open) call.ended = true
    return [
      ...open.map(({ toolCallId }) =>
        updating({
          sessionUpdate: 'tool_call_update',
          toolCallId,
          status: 'failed',
          content: textContent('The task ended before this call.'),
        }),
      ),
      ...(end === null ? [] : [{ end }]),
    ]
  }
}

const updating = (update: SessionUpdate): TurnChange => ({ update })

export const userText = (text: string, messageId: string): SessionUpdate => ({
  sessionUpdate: 'user_message_chunk',
  messageId,
  content: { type: 'text', text },
})

export const agentText = (text: string, messageId: string): SessionUpdate => ({
  sessionUpdate: 'agent_message_chunk',
  messageId,
  content: { type: 'text', text },
})

const keyOf = (runId: string, callId: string): string => `${runId}\u0000${callId}`

// The plan that an editor shows: the nodes of the teams of a task with their states. A plan has at most
// `entriesMax` entries and one that counts the rest, because every change sends the whole plan.

const entriesMax = 100
const contentCharsMax = 120

/** The events that change the plan. */
const ofPlan: ReadonlySet<EventType> = new Set([
  'task_team_run_started',
  'graph_extended',
  'node_started',
  'node_completed',
  'node_computed',
  'node_failed',
  'node_blocked',
  'node_cancelled',
  'node_skipped',
])

function planOf({ nodes }: TaskView): Plan {
  const all = [...nodes.values()].map(entryOf)
  const entries = all.slice(0, entriesMax)
  const others = all.slice(entriesMax)
  if (others.length === 0) return { entries }
  const ended = others.filter(({ status }) => status === 'completed').length
  const status =
    ended === others.length
      ? 'completed'
      : others.every((each) => each.status === 'pending')
        ? 'pending'
        : 'in_progress'
  const content = `${others.length} more, ${ended} of them ended`
  return { entries: [...entries, { content, status, priority: 'medium' }] }
}

function entryOf({ node, state, nodeEnded, startedAt }: AgentView): PlanEntry {
  const about =
    node?.kind === 'agent' ? node.instruction : node?.kind === 'tool' ? node.tool : node?.operation
  const content = `${node?.node_id}: ${about}`
    .replaceAll(/\s+/gu, ' ')
    .slice(0, contentCharsMax)
    .toWellFormed()
  return {
    content: nodeEnded && state !== 'completed' ? `[${state}] ${content}` : content,
    status: nodeEnded ? 'completed' : startedAt === null ? 'pending' : 'in_progress',
    priority: 'medium',
  }
}
