// What an editor is told of one task. A fold of the events and the live pieces of the task. The same events
// give the same updates with the same ids, so a session that is loaded again looks as it did live. What a
// retry copied from the task that it retries is not told again. Every call that was shown gets an end, at the
// latest with the task.
import type { Plan, PlanEntry, SessionUpdate } from '@agentclientprotocol/sdk'
import {
  type DataOf,
  type DomainEvent,
  type ExecutionNode,
  isProgress,
  isTerminalTaskEvent,
  type LiveProgress,
  type LiveUpdate,
  type OpenQuestion,
  openQuestions,
  progressText,
  type RecordedEvent,
  type TaskResult,
  type TerminalTaskEvent,
  type ToolCall,
} from '@beaver/core'
import { AgentOutput, type Step } from '@beaver/http/agent-output'
import { askedContent, questionContent, shownCall, textContent } from './shown-call.ts'

/** A call that waits for a person. `callId` names it in a decision. */
export interface AskedCall {
  readonly toolCallId: string
  readonly callId: string
  readonly title: string
  /** The arguments as the model wrote them. */
  readonly written: string
  readonly asked: DataOf<'approval_requested'>
}

/** A question of a call that waits for an answer. */
export interface ShownQuestion extends OpenQuestion {
  readonly toolCallId: string
}

export interface TurnEnd {
  readonly type: TerminalTaskEvent
  readonly result: TaskResult
}

/** `decided`: the call no longer waits. `settled`: the question no longer waits. */
export type Told =
  | { readonly update: SessionUpdate }
  | { readonly asked: AskedCall }
  | { readonly decided: { readonly toolCallId: string } }
  | { readonly question: ShownQuestion }
  | { readonly settled: { readonly taskseq: number } }
  | { readonly end: TurnEnd }

/** Updates that wait for the event of their call. */
const earlyMax = 100

interface Shown {
  readonly toolCallId: string
  readonly title: string
  readonly written: string
  ended: boolean
}

export class TurnUpdates {
  readonly #taskId: string
  readonly #output = new AgentOutput()
  readonly #plan = new TeamPlan()
  /** The agents of the workers, by their runs. */
  readonly #workers = new Map<string, string>()
  readonly #calls = new Map<string, Shown>()
  readonly #early = new Map<string, LiveProgress>()
  #questions: readonly OpenQuestion[] = []
  #callsShown = 0
  #workspace = ''
  #copiedTo = 0
  #ended = false

  constructor(taskId: string) {
    this.#taskId = taskId
  }

  get ended(): boolean {
    return this.#ended
  }

  /** The questions that wait, oldest first. */
  get questions(): readonly ShownQuestion[] {
    return this.#questions.flatMap((each) => this.#shownQuestion(each))
  }

  live(update: LiveUpdate): Told[] {
    return isProgress(update) ? this.#progress(update) : this.#said(this.#output.piece(update))
  }

  /**
   * It is shown until the call has a result. A question of the call stays. It may come before the event that
   * the call is in.
   */
  #progress(update: LiveProgress): Told[] {
    const { run_id: runId, call_id: callId } = update
    const key = keyOf(runId, callId)
    if (!this.#calls.has(key) && this.#early.size < earlyMax) this.#early.set(key, update)
    if (this.#questions.some((each) => each.runId === runId && each.callId === callId)) return []
    return this.#callUpdate(runId, callId, {
      status: 'in_progress',
      content: textContent(progressText(update)),
    })
  }

  event(event: RecordedEvent): Told[] {
    if (event.type === 'task_log_copied') this.#copiedTo = event.taskseq + event.data.events
    const told = [...this.#tell(event), ...this.#asks(event)]
    return event.taskseq > this.#copiedTo ? told : []
  }

  #tell(event: RecordedEvent): Told[] {
    const { type, data, runId = '' } = event
    const plan = this.#plan.event(event)
    const said = [
      ...(plan === null ? [] : [updating({ sessionUpdate: 'plan', ...plan })]),
      ...this.#said(this.#output.event(event)),
    ]
    switch (type) {
      case 'task_submitted':
        this.#workspace = data.request.workspace
        return said
      case 'run_started':
        if (data.team_run_id !== null) this.#workers.set(data.run_id, data.agent_name)
        return said
      case 'user_message_added':
        return data.steer_request_id === undefined
          ? said
          : [...said, updating(userText(data.content, `${this.#taskId}.${data.steer_request_id}`))]
      case 'assistant_message_added':
        return [...said, ...data.tool_calls.map((call) => this.#call(call, runId))]
      case 'tool_call_requested':
        return [...said, this.#call(data.call, runId)]
      case 'tool_call_started':
        return [...said, ...this.#started(runId, data.call_id)]
      case 'tool_result_recorded':
        return [...said, ...this.#result(runId, data)]
      case 'approval_requested':
        return [...said, ...this.#asked(runId, data)]
      case 'approval_granted':
      case 'approval_denied':
        return [...said, ...this.#decided(runId, data.call_id)]
      default:
        return isTerminalTaskEvent(type) ? [...said, ...this.#end(type, data as TaskResult)] : said
    }
  }

  /** What becomes of the questions with an event. */
  #asks(event: RecordedEvent): Told[] {
    const before = this.#questions
    this.#questions = openQuestions(before, event)
    if (this.#questions === before) return []
    const gone = before
      .filter((each) => !this.#questions.includes(each))
      .map(({ taskseq }) => ({ settled: { taskseq } }))
    const begun = this.#questions.filter((each) => !before.includes(each))
    const asked = begun.flatMap((each) => [
      ...this.#callUpdate(each.runId ?? '', each.callId, { content: questionContent(each) }),
      ...this.#shownQuestion(each).map((question) => ({ question })),
    ])
    return [...gone, ...asked]
  }

  #shownQuestion(each: OpenQuestion): ShownQuestion[] {
    const shown = this.#calls.get(keyOf(each.runId ?? '', each.callId))
    return shown === undefined ? [] : [{ ...each, toolCallId: shown.toolCallId }]
  }

  #said(steps: readonly Step[]): Told[] {
    return steps.flatMap((step) =>
      step.kind === 'text'
        ? [
            updating({
              sessionUpdate: 'agent_message_chunk',
              messageId: `${this.#taskId}.${step.index}`,
              content: { type: 'text', text: step.delta },
            }),
          ]
        : [],
    )
  }

  #call(call: ToolCall, runId: string): Told {
    const toolCallId = `${this.#taskId}/${++this.#callsShown}`
    const shown = shownCall(call, {
      toolCallId,
      agent: this.#workers.get(runId) ?? null,
      workspace: this.#workspace,
    })
    this.#calls.set(keyOf(runId, call.id), {
      toolCallId,
      title: shown.title,
      written: call.arguments,
      ended: false,
    })
    return updating({ sessionUpdate: 'tool_call', ...shown })
  }

  #started(runId: string, callId: string): Told[] {
    const key = keyOf(runId, callId)
    const early = this.#early.get(key)
    this.#early.delete(key)
    return [
      ...this.#callUpdate(runId, callId, { status: 'in_progress' }),
      ...(early === undefined ? [] : this.#progress(early)),
    ]
  }

  #callUpdate(runId: string, callId: string, change: object): Told[] {
    const shown = this.#calls.get(keyOf(runId, callId))
    return shown === undefined || shown.ended
      ? []
      : [updating({ sessionUpdate: 'tool_call_update', toolCallId: shown.toolCallId, ...change })]
  }

  #result(runId: string, { call_id: callId, success, content }: DataOf<'tool_result_recorded'>): Told[] {
    const told = this.#callUpdate(runId, callId, {
      status: success ? 'completed' : 'failed',
      content: textContent(content),
    })
    const shown = this.#calls.get(keyOf(runId, callId))
    if (shown !== undefined) shown.ended = true
    return told
  }

  #asked(runId: string, asked: DataOf<'approval_requested'>): Told[] {
    const shown = this.#calls.get(keyOf(runId, asked.call_id))
    if (shown === undefined) return []
    const { toolCallId, title, written } = shown
    const callId = runId === '' ? asked.call_id : `${runId}/${asked.call_id}`
    return [
      ...this.#callUpdate(runId, asked.call_id, { content: askedContent(asked, this.#taskId) }),
      { asked: { toolCallId, callId, title, written, asked } },
    ]
  }

  #decided(runId: string, callId: string): Told[] {
    const shown = this.#calls.get(keyOf(runId, callId))
    return shown === undefined ? [] : [{ decided: { toolCallId: shown.toolCallId } }]
  }

  #end(type: TerminalTaskEvent, result: TaskResult): Told[] {
    this.#ended = true
    const open = [...this.#calls.values()].filter(({ ended }) => !ended)
    for (const call of open) call.ended = true
    return [
      ...this.#said(this.#output.end({ output_text: result.final_output })),
      ...open.map(({ toolCallId }) =>
        updating({
          sessionUpdate: 'tool_call_update',
          toolCallId,
          status: 'failed',
          content: textContent('The task ended before this call.'),
        }),
      ),
      { end: { type, result } },
    ]
  }
}

const updating = (update: SessionUpdate): Told => ({ update })

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

// The plan that an editor shows: the nodes of the teams of one task, with how far each is. A fold of events.
// At most `entriesMax` entries are shown, and one that counts the others, because every change sends the
// whole plan.

const entriesMax = 100
const contentCharsMax = 120

interface Entry {
  content: string
  status: PlanEntry['status']
}

class TeamPlan {
  readonly #entries = new Map<string, Entry>()

  /** The new plan. `null`: the event changes nothing in it. */
  event(event: DomainEvent): Plan | null {
    return this.#apply(event) ? this.#plan() : null
  }

  #apply({ type, data }: DomainEvent): boolean {
    switch (type) {
      case 'task_team_run_started':
        for (const node of data.graph.nodes) this.#add(data.team_run_id, node)
        return true
      case 'graph_extended':
        for (const node of data.nodes) this.#add(data.team_run_id, node)
        return true
      case 'node_started':
        return this.#set(data, 'in_progress', null)
      case 'node_completed':
      case 'node_computed':
        return this.#set(data, 'completed', null)
      case 'node_failed':
        return this.#set(data, 'completed', 'failed')
      case 'node_blocked':
        return this.#set(data, 'completed', 'blocked')
      case 'node_cancelled':
        return this.#set(data, 'completed', 'cancelled')
      case 'node_skipped':
        return this.#set(data, 'completed', 'skipped')
      default:
        return false
    }
  }

  #add(team: string, node: ExecutionNode): void {
    const about = node.kind === 'agent' ? node.instruction : node.kind === 'tool' ? node.tool : node.operation
    const content = `${node.node_id}: ${about}`.replaceAll(/\s+/gu, ' ')
    this.#entries.set(planKeyOf(team, node.node_id), {
      content: content.slice(0, contentCharsMax).toWellFormed(),
      status: 'pending',
    })
  }

  #set(
    { team_run_id: team, node_id: node }: { team_run_id: string; node_id: string },
    status: Entry['status'],
    why: string | null,
  ): boolean {
    const entry = this.#entries.get(planKeyOf(team, node))
    if (entry === undefined) return false
    if (why !== null) entry.content = `[${why}] ${entry.content}`
    entry.status = status
    return true
  }

  #plan(): Plan {
    const all = [...this.#entries.values()]
    const entries = all
      .slice(0, entriesMax)
      .map(({ content, status }): PlanEntry => ({ content, status, priority: 'medium' }))
    const others = all.slice(entriesMax)
    if (others.length === 0) return { entries }
    const ended = others.filter(({ status }) => status === 'completed').length
    const status =
      ended === others.length
        ? 'completed'
        : others.every((each) => each.status === 'pending')
          ? 'pending'
          : 'in_progress'
    return {
      entries: [
        ...entries,
        { content: `${others.length} more, ${ended} of them ended`, status, priority: 'medium' },
      ],
    }
  }
}

const planKeyOf = (team: string, node: string): string => `${team} ${node}`
