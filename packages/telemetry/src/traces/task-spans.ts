// Makes the spans of one task from its events, each when the event that ends it comes. It reads nothing else:
// no clock, and no state of a process. So the same log gives the same spans, whichever daemon did the work.
//
//   task ▸ invoke_agent (a run) ▸ chat (a call of a model) | execute_tool (a call of a tool)
//   execute_tool ▸ invoke_workflow (a team) ▸ invoke_agent (a run of a member) ▸ …
//
// A span that ends while something inside of it is open ends that, too, so that each parent exists. A span has
// no text of a prompt, an answer, a tool or a person, unless `content` is set.
import { createHash } from 'node:crypto'
import {
  type DataOf,
  type DomainEvent,
  isTerminalTaskEvent,
  type LogId,
  type TerminalTaskEvent,
  type Usage,
} from '@beaver/core'
import { endsModelCall } from '@beaver/core/fold'
import { type SpanKey, spanId, type TaskTrace } from '@beaver/core/trace'
import { names } from './names.ts'
import type { Attributes, AttributeValue, SpanEvent, TraceSpan } from './trace-span.ts'

/** From so many spans of calls on, a task has only those of its runs, its teams and what failed. */
const callSpansMax = 10_000
/** What more happens in one span is left out. */
const spanEventsMax = 128
const contentCharsMax = 32_768

/** What of an event makes spans. */
export type TracedEvent = DomainEvent & {
  readonly taskseq: number
  readonly time: string
  /** '': the event belongs to no run. */
  readonly runId: string
}

/** The events that begin, end or belong to a span. The others, such as prompts, need not be read. */
const traced =
  /^(?:task_|budget_|run_|model_call_|tool_call_|tool_result_|assistant_|provider_call_|context_summarized|summary_refused|skill_selection_|approval_|question_)/
/** Whether events of this type make spans. */
export const isTraced = (type: string): boolean => traced.test(type)

export interface TaskSpansParts {
  readonly log: LogId
  readonly trace: TaskTrace
  /** The trace of the task that this one retries. `null`: it retries none, or nobody knows the other. */
  readonly retried: TaskTrace | null
  /** Whether the spans have the texts of answers, of calls of tools and of their results. */
  readonly content: boolean
}

/** A span that has begun. */
interface Open {
  readonly id: string
  /** `null`: it is no run. */
  readonly runId: string | null
  readonly parentId: string | null
  readonly name: string
  readonly kind: TraceSpan['kind']
  readonly beganMs: number
  readonly attributes: Attributes
  readonly events: SpanEvent[]
}

/** A call that the model asked for and that has no result. */
interface Call {
  readonly seq: number
  readonly tool: string
  readonly arguments: string
  readonly events: SpanEvent[]
  beganMs: number | null
  starts: number
}

/** The spans of one task. Give it the events of the task in the order of the log. */
export class TaskSpans {
  readonly #parts: TaskSpansParts
  readonly #taskId: string
  readonly #conversation: Attributes
  /** The spans that have begun, by their ids: the task, its runs and its teams. */
  readonly #open = new Map<string, Open>()
  /** What is open inside of a span. */
  readonly #inside = new Map<string | null, Set<string>>()
  /** The calls without a result of each run, by their ids. */
  readonly #calls = new Map<string, Map<string, Call>>()
  /** How many calls of models of each open run have an outcome. */
  readonly #modelCalls = new Map<string, number>()
  /** The reserved call of a model of each run that may be under way: since when, and which model is asked. */
  readonly #reserved = new Map<string, { readonly atMs: number; readonly model: string }>()
  /** The events up to this place are copies, which are in the trace of another task. */
  #copiedTo = 0
  #claims = 0
  #callSpans = 0
  #ended: TraceSpan[] = []

  constructor(parts: TaskSpansParts) {
    this.#parts = parts
    this.#taskId = spanId(parts.trace, { kind: 'task' })
    const { session } = parts.log
    // A session may be named after a person.
    const hidden = (): string => createHash('sha256').update(session).digest('hex').slice(0, 32)
    this.#conversation = { [names.conversation]: parts.content ? session : hidden() }
  }

  /** The spans that end with this event. */
  take(event: TracedEvent): readonly TraceSpan[] {
    if (!this.#parts.trace.sampled) return []
    this.#ended = []
    const atMs = Date.parse(event.time)
    if (Number.isFinite(atMs)) this.#take(event, atMs)
    if (endsModelCall(event.type))
      this.#modelCalls.set(event.runId, (this.#modelCalls.get(event.runId) ?? 0) + 1)
    return event.taskseq <= this.#copiedTo ? [] : this.#ended
  }

  #take(event: TracedEvent, atMs: number): void {
    switch (event.type) {
      case 'task_submitted':
        return this.#begin({ kind: 'task' }, null, {
          name: 'task',
          atMs,
          attributes: this.#ofTask(event.data),
        })
      case 'task_log_copied':
        this.#copiedTo = event.taskseq + event.data.events
        return
      case 'run_started':
        return this.#runStarted(event.data, atMs)
      case 'task_team_run_started':
        return this.#teamStarted(event.data, atMs)
      case 'assistant_message_added':
        return this.#answered(event, atMs)
      case 'tool_call_requested':
        return this.#asked(event.runId, 0, [event.data.call])
      case 'tool_call_started': {
        const call = this.#call(event.runId, event.data.call_id)
        if (call === undefined) return
        call.beganMs ??= atMs
        call.starts++
        return
      }
      case 'tool_result_recorded':
        return this.#toolEnded(event.runId, event.data, atMs)
      case 'model_call_reserved':
        this.#reserved.set(event.runId, { atMs, model: event.data.model })
        return
      case 'provider_call_failed':
      case 'model_call_lost':
      case 'model_call_paid':
      case 'context_summarized':
      case 'summary_refused':
      case 'skill_selection_recorded':
        return this.#modelCalled(event, atMs)
      case 'run_completed':
      case 'run_failed':
      case 'run_cancelled':
        return this.#runEnded(event, atMs)
      case 'task_team_run_completed':
      case 'task_team_run_failed':
        return this.#end(this.#idOf({ kind: 'team', team: event.data.team_run_id }), atMs, {
          error: event.data.outcome === 'complete' ? null : event.data.outcome,
          attributes: { [names.outcome]: event.data.outcome },
        })
      default:
        if (isTerminalTaskEvent(event.type))
          return this.#taskEnded(event.type, event.data as DataOf<TerminalTaskEvent>, atMs)
        return this.#happened(event, atMs)
    }
  }

  #ofTask({ task_id, request }: DataOf<'task_submitted'>): Attributes {
    return {
      [names.task]: task_id,
      ...this.#conversation,
      ...(request.workflow === undefined ? {} : { [names.agent]: request.workflow.name }),
    }
  }

  #runStarted(run: DataOf<'run_started'>, atMs: number): void {
    const { run_id, agent_name: agent, team_run_id: team, node_id, attempt_index, model } = run
    const parent: SpanKey = team === null ? { kind: 'task' } : { kind: 'team', team }
    this.#begin({ kind: 'run', run: run_id }, this.#openIdOf(parent), {
      name: `invoke_agent ${agent}`,
      atMs,
      attributes: {
        [names.operation]: 'invoke_agent',
        [names.agent]: agent,
        ...this.#conversation,
        [names.run]: run_id,
        [names.attempt]: attempt_index,
        ...(node_id === null ? {} : { [names.node]: node_id }),
        ...(model === undefined ? {} : { [names.requestModel]: model }),
      },
    })
  }

  #teamStarted(
    { team_run_id: team, run_id, call_id, graph }: DataOf<'task_team_run_started'>,
    atMs: number,
  ): void {
    const call = run_id === null || call_id === null ? undefined : this.#call(run_id, call_id)
    const parent =
      run_id === null || call_id === null || call === undefined
        ? this.#openIdOf(run_id === null ? { kind: 'task' } : { kind: 'run', run: run_id })
        : this.#idOf({ kind: 'call', run: run_id, seq: call.seq, call: call_id })
    // The call has begun, although a workflow has no event that says so.
    if (call !== undefined) call.beganMs ??= atMs
    this.#begin({ kind: 'team', team }, parent, {
      name: `invoke_workflow ${graph.workflow}`,
      atMs,
      attributes: {
        [names.operation]: 'invoke_workflow',
        [names.agent]: graph.workflow,
        [names.team]: team,
        [names.nodes]: graph.nodes.length,
      },
    })
  }

  #answered(
    { runId, taskseq, data }: Extract<TracedEvent, { type: 'assistant_message_added' }>,
    atMs: number,
  ): void {
    this.#asked(runId, taskseq, data.tool_calls)
    // A team wrote the text, or the answer was given in another task.
    if (data.delivered_from !== undefined || data.copied_from !== undefined) return
    const { usage, provider_name: provider, model, response_id, finish_reason, duration_ms } = data
    const asked = this.#reserved.get(runId)?.model ?? model
    this.#leaf(this.#modelKey(runId), {
      name: `chat ${asked}`,
      kind: 'client',
      beganMs: atMs - duration_ms,
      endedMs: atMs,
      attributes: {
        ...ofModel({ provider, model, usage, purpose: 'answer', asked }),
        ...this.#conversation,
        [names.finishReasons]: [finish_reason],
        ...(response_id === null ? {} : { [names.responseId]: response_id }),
        ...this.#outputOf(data),
      },
    })
    this.#reserved.delete(runId)
  }

  /** The outcome of a call of a model that is no answer of the run. */
  #modelCalled(event: Extract<TracedEvent, { type: ModelOutcome }>, atMs: number): void {
    const { runId } = event
    const reserved = this.#reserved.get(runId)
    const told = toldOf(event, reserved?.model)
    this.#reserved.delete(runId)
    if (told === null) return
    const { name, attributes, error, durationMs } = told
    const beganMs = durationMs === null ? (reserved?.atMs ?? atMs) : atMs - durationMs
    this.#leaf(this.#modelKey(runId), {
      ...{ name, kind: 'client', beganMs, endedMs: atMs, error },
      attributes: { ...attributes, ...this.#conversation },
    })
  }

  #asked(
    runId: string,
    seq: number,
    calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[],
  ): void {
    if (calls.length === 0) return
    const asked = calls.map(({ id, name: tool, arguments: args }): [string, Call] => [
      id,
      { seq, tool, arguments: args, events: [], beganMs: null, starts: 0 },
    ])
    this.#calls.set(runId, new Map(asked))
  }

  #call(runId: string, callId: string): Call | undefined {
    return this.#calls.get(runId)?.get(callId)
  }

  #toolEnded(runId: string, result: DataOf<'tool_result_recorded'>, atMs: number): void {
    const { call_id: callId, success, error, content, duration_ms } = result
    const call = this.#call(runId, callId)
    if (call === undefined) return
    this.#calls.get(runId)?.delete(callId)
    this.#callEnded(runId, callId, call, {
      beganMs: call.beganMs ?? atMs - duration_ms,
      endedMs: atMs,
      error: success ? null : (error ?? 'failed'),
      result: content,
    })
  }

  #callEnded(
    runId: string,
    callId: string,
    call: Call,
    end: {
      readonly beganMs: number
      readonly endedMs: number
      readonly error: string | null
      readonly result: string
    },
  ): void {
    const key: SpanKey = { kind: 'call', run: runId, seq: call.seq, call: callId }
    this.#endInside(this.#idOf(key), end.endedMs)
    this.#leaf(key, {
      name: `execute_tool ${call.tool}`,
      kind: 'internal',
      beganMs: end.beganMs,
      endedMs: end.endedMs,
      error: end.error,
      events: call.events,
      attributes: {
        [names.operation]: 'execute_tool',
        [names.tool]: call.tool,
        [names.toolType]: 'function',
        [names.toolCall]: callId,
        ...(call.starts > 1 ? { [names.starts]: call.starts } : {}),
        ...this.#content({ [names.toolArguments]: call.arguments, [names.toolResult]: end.result }),
      },
    })
  }

  #runEnded(
    event: Extract<TracedEvent, { type: 'run_completed' | 'run_failed' | 'run_cancelled' }>,
    atMs: number,
  ): void {
    const { runId, data, type } = event
    this.#end(this.#idOf({ kind: 'run', run: runId }), atMs, {
      error: type === 'run_failed' ? event.data.failure.class : type === 'run_cancelled' ? 'cancelled' : null,
      attributes: tokensOf(data.usage),
    })
  }

  #taskEnded(type: TerminalTaskEvent, result: DataOf<TerminalTaskEvent>, atMs: number): void {
    this.#end(this.#taskId, atMs, {
      error: result.failure?.class ?? null,
      attributes: {
        ...tokensOf(result.usage),
        [names.taskStatus]: type.slice('task_'.length),
        [names.claims]: this.#claims,
      },
    })
  }

  /** What happens in a span and ends none. Nobody is named: a person may stand behind a name. */
  #happened(event: TracedEvent, atMs: number): void {
    const inTask = (name: string, attributes: Attributes = {}): void =>
      addEvent(this.#open.get(this.#taskId)?.events, { name, atMs, attributes })
    const inCall = (callId: string, name: string): void =>
      addEvent(this.#call(event.runId, callId)?.events, { name, atMs, attributes: {} })
    switch (event.type) {
      case 'task_claimed':
        this.#claims++
        return inTask(event.type)
      case 'task_suspended':
        return inTask(event.type, { [names.waitsFor]: event.data.waits_for })
      case 'budget_reached':
        return inTask(event.type, {
          [names.budget]: event.data.budget.of,
          [names.percent]: event.data.percent,
        })
      case 'approval_requested':
      case 'approval_granted':
      case 'approval_denied':
      case 'question_asked':
      case 'question_answered':
        return inCall(event.data.call_id, event.type)
      case 'run_restarted':
        return addEvent(this.#open.get(this.#idOf({ kind: 'run', run: event.runId }))?.events, {
          name: event.type,
          atMs,
          attributes: {},
        })
      default:
        if (/^(?:task|budget)_/.test(event.type)) inTask(event.type)
    }
  }

  #idOf(key: SpanKey): string {
    return spanId(this.#parts.trace, key)
  }

  #modelKey(run: string): Extract<SpanKey, { kind: 'model' }> {
    return { kind: 'model', run, number: this.#modelCalls.get(run) ?? 0 }
  }

  /** The id of a span that has begun; that of the task if it has not. */
  #openIdOf(key: SpanKey): string {
    const id = this.#idOf(key)
    return this.#open.has(id) ? id : this.#taskId
  }

  #begin(
    key: SpanKey,
    parentId: string | null,
    {
      name,
      atMs,
      attributes,
    }: { readonly name: string; readonly atMs: number; readonly attributes: Attributes },
  ): void {
    const id = this.#idOf(key)
    if (this.#open.has(id)) return
    const runId = key.kind === 'run' ? key.run : null
    this.#open.set(id, { id, runId, parentId, name, kind: 'internal', beganMs: atMs, attributes, events: [] })
    const inside = this.#inside.get(parentId) ?? new Set()
    this.#inside.set(parentId, inside.add(id))
  }

  /** Ends a span that has begun, and what is open inside of it. */
  #end(
    id: string,
    endedMs: number,
    { error, attributes = {} }: { readonly error: string | null; readonly attributes?: Attributes },
  ): void {
    const open = this.#open.get(id)
    if (open === undefined) return
    if (open.runId !== null) this.#endCalls(open.runId, endedMs)
    if (open.runId !== null) this.#modelCalls.delete(open.runId)
    this.#open.delete(id)
    this.#inside.get(open.parentId)?.delete(id)
    this.#endInside(id, endedMs)
    this.#say({ ...open, endedMs, error, attributes: { ...open.attributes, ...attributes } })
  }

  #endInside(id: string, endedMs: number): void {
    for (const inside of this.#inside.get(id) ?? []) this.#end(inside, endedMs, { error: 'cancelled' })
    this.#inside.delete(id)
  }

  /** Ends the calls of a run that were under way when it ended. */
  #endCalls(runId: string, endedMs: number): void {
    const calls = this.#calls.get(runId) ?? []
    this.#calls.delete(runId)
    this.#reserved.delete(runId)
    for (const [callId, call] of calls) {
      const { beganMs } = call
      if (beganMs !== null)
        this.#callEnded(runId, callId, call, { beganMs, endedMs, error: 'cancelled', result: '' })
    }
  }

  /** A span of which nothing is known before it ends. */
  #leaf(
    key: Extract<SpanKey, { run: string }>,
    span: Pick<TraceSpan, 'name' | 'kind' | 'beganMs' | 'endedMs' | 'attributes'> &
      Partial<Pick<TraceSpan, 'error' | 'events'>>,
  ): void {
    const { error = null, events = [] } = span
    if (++this.#callSpans > callSpansMax && error === null) return
    const parentId = this.#openIdOf({ kind: 'run', run: key.run })
    this.#say({ ...span, id: this.#idOf(key), parentId, error, events })
  }

  #say(span: Omit<Open, 'events' | 'runId'> & Pick<TraceSpan, 'endedMs' | 'error' | 'events'>): void {
    const { trace, retried } = this.#parts
    const { id, parentId, error, endedMs } = span
    const isTask = id === this.#taskId
    this.#ended.push({
      traceId: trace.traceId,
      spanId: id,
      parentId: isTask ? trace.parentId : parentId,
      parentIsRemote: isTask && trace.parentId !== null,
      traceState: trace.state,
      name: span.name,
      kind: isTask && trace.parentId !== null ? 'consumer' : span.kind,
      // The clocks of daemons differ.
      beganMs: Math.min(span.beganMs, endedMs),
      endedMs,
      attributes: error === null ? span.attributes : { ...span.attributes, [names.error]: error },
      events: span.events,
      links:
        isTask && retried !== null
          ? [
              {
                traceId: retried.traceId,
                spanId: spanId(retried, { kind: 'task' }),
                attributes: { [names.link]: 'retry_of' },
              },
            ]
          : [],
      error,
    })
  }

  /** An answer in the form of the conventions. What its calls say is in their own spans. */
  #outputOf({ content, tool_calls: calls, finish_reason }: DataOf<'assistant_message_added'>): Attributes {
    if (!this.#parts.content) return {}
    const parts = [
      ...(content === null ? [] : [{ type: 'text', content: bounded(content) }]),
      ...calls.map(({ id, name }) => ({ type: 'tool_call', id, name })),
    ]
    return { [names.output]: JSON.stringify([{ role: 'assistant', parts, finish_reason }]) }
  }

  #content(texts: Readonly<Record<string, string>>): Attributes {
    if (!this.#parts.content) return {}
    return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, bounded(text)]))
  }
}

const bounded = (text: string): string => text.slice(0, contentCharsMax).toWellFormed()

function addEvent(events: SpanEvent[] | undefined, event: SpanEvent): void {
  if (events !== undefined && events.length < spanEventsMax) events.push(event)
}

const tokensOf = (usage: Usage): Record<string, AttributeValue> => ({
  [names.inputTokens]: usage.input_tokens,
  [names.outputTokens]: usage.output_tokens,
  ...(usage.cached_input_tokens === undefined ? {} : { [names.cachedTokens]: usage.cached_input_tokens }),
  ...(usage.cache_write_tokens === undefined ? {} : { [names.cacheWriteTokens]: usage.cache_write_tokens }),
  ...(usage.reasoning_tokens === undefined ? {} : { [names.reasoningTokens]: usage.reasoning_tokens }),
})

/** The conventions know `openai`, and not which endpoint of the configuration it is: `openai:fallback`. */
function ofProvider(provider: string): Attributes {
  const [name = provider] = provider.split(':')
  return { [names.provider]: name, ...(name === provider ? {} : { [names.endpoint]: provider }) }
}

const ofModel = ({
  provider,
  model,
  usage,
  purpose,
  asked = model,
}: {
  readonly provider: string | null | undefined
  readonly model: string | null | undefined
  readonly usage: Usage | undefined
  readonly purpose: string
  /** The model of the request. Default: the one that answered. */
  readonly asked?: string | null | undefined
}): Attributes => ({
  [names.operation]: 'chat',
  [names.purpose]: purpose,
  ...(provider === undefined || provider === null ? {} : ofProvider(provider)),
  ...(asked === undefined || asked === null ? {} : { [names.requestModel]: asked }),
  ...(model === undefined || model === null ? {} : { [names.responseModel]: model }),
  ...(usage === undefined ? {} : tokensOf(usage)),
})

type ModelOutcome =
  | 'provider_call_failed'
  | 'model_call_lost'
  | 'model_call_paid'
  | 'context_summarized'
  | 'summary_refused'
  | 'skill_selection_recorded'

interface Told {
  readonly name: string
  readonly attributes: Attributes
  readonly error: string | null
  /** `null`: nobody measured it. */
  readonly durationMs: number | null
}

/** `null`: no model was called. */
function toldOf(event: Extract<TracedEvent, { type: ModelOutcome }>, asked: string | undefined): Told | null {
  const { data, type } = event
  const { provider_name: provider, model, usage } = data
  const named = (operation: string): string => `${operation} ${asked ?? model ?? ''}`.trimEnd()
  const chat = named('chat')
  switch (type) {
    case 'provider_call_failed':
      return {
        name: chat,
        error: event.data.failure.class,
        durationMs: event.data.duration_ms ?? null,
        attributes: {
          ...ofModel({ provider, model, usage, purpose: 'answer', asked: asked ?? model }),
          [names.tries]: event.data.tries,
          ...(event.data.status === null ? {} : { [names.httpStatus]: event.data.status }),
        },
      }
    case 'model_call_lost':
      return {
        name: chat,
        error: 'lost',
        durationMs: null,
        attributes: ofModel({ provider, model, usage, purpose: 'answer' }),
      }
    case 'model_call_paid':
      return {
        name: named('embeddings'),
        error: null,
        durationMs: 0,
        attributes: {
          ...ofModel({ provider, model, usage, purpose: event.data.purpose }),
          [names.operation]: 'embeddings',
        },
      }
    case 'context_summarized':
    case 'summary_refused': {
      if (event.data.copied_from !== undefined) return null
      const error = type === 'summary_refused' ? 'summary_refused' : null
      return {
        name: chat,
        error,
        durationMs: null,
        attributes: ofModel({ provider, model, usage, purpose: 'summary' }),
      }
    }
    case 'skill_selection_recorded':
      return event.data.usage.calls === 0 || event.data.copied_from !== undefined
        ? null
        : {
            name: chat,
            error: null,
            durationMs: null,
            attributes: ofModel({ provider, model, usage, purpose: 'skill_selection' }),
          }
    default:
      return type satisfies never
  }
}
