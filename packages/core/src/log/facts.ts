// Every fact that operators read in the log: one function per fact, with its event name, level and sentence.
// docs/reference/log.md lists them. `warn` and `error` are for facts that a person must look at, `info` and
// `debug` for planned work. The adapter of the port Logger decides how a line is written.
import { budgetText } from '../budget/amounts.ts'
import type { DataOf } from '../events/catalog.ts'
import type { TerminalTaskEvent } from '../events/event-kinds.ts'
import { BeaverError, messageOf } from '../errors.ts'
import type { LogId } from '../ids.ts'
import type { LogFields, LogLevel, Logger } from '../ports/logger.ts'

const logFields = ({ tenant, session, task }: LogId): LogFields => ({
  tenant,
  session_id: session,
  task_id: task,
})
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

/** Facts of a task, as its daemon sees it. */
export const taskFacts = {
  accepted: (logger: Logger, log: LogId): void =>
    logger.debug('task_accepted', 'The task is accepted and durable.', logFields(log)),

  /** @param from the owner that disappeared without a release; `null` if nobody owned the task */
  claimed: (
    logger: Logger,
    log: LogId,
    { daemon, epoch, from }: { daemon: string; epoch: number; from: string | null },
  ): void =>
    from === null
      ? logger.info('task_claimed', 'The daemon drives the task now.', { ...logFields(log), daemon, epoch })
      : logger.warn('task_taken_over', 'The daemon takes the task over, because its owner went away.', {
          ...logFields(log),
          daemon,
          epoch,
          from,
        }),

  /** @param waitsFor `person`, `provider`, `limit` or `predecessor` */
  suspended: (
    logger: Logger,
    log: LogId,
    {
      daemon,
      waitsFor,
      until,
      reason,
    }: { daemon: string; waitsFor: string; until: string | null; reason: string },
  ): void =>
    logger.info('task_suspended', `The task waits: ${reason}`, {
      ...logFields(log),
      daemon,
      waits_for: waitsFor,
      ...(until === null ? {} : { until }),
    }),

  budgetReached: (
    logger: Logger,
    log: LogId,
    { budget, measure, percent, used, limit }: DataOf<'budget_reached'>,
  ): void =>
    logger[percent === 100 ? 'warn' : 'info'](
      'budget_reached',
      `The task has used ${percent} % of ${budgetText(budget)}.`,
      { ...logFields(log), measure, percent, used, limit },
    ),

  ended: (
    logger: Logger,
    log: LogId,
    end: { readonly type: TerminalTaskEvent; readonly data: DataOf<TerminalTaskEvent> },
    fields: LogFields = {},
  ): void => {
    const status = end.type.slice('task_'.length)
    const { failure, provider, model } = end.data
    const why: LogFields =
      failure === null ? {} : { failure_class: failure.class, failure_message: failure.message }
    const level: LogLevel = status === 'failed' || status === 'incomplete' ? 'warn' : 'info'
    const message = failure === null ? `The task is ${status}.` : `The task is ${status}: ${failure.message}`
    logger[level]('task_ended', message, {
      ...logFields(log),
      status,
      ...why,
      provider,
      model,
      tokens: end.data.usage.input_tokens + end.data.usage.output_tokens,
      ...fields,
    })
  },

  released: (logger: Logger, log: LogId, { daemon, reason }: { daemon: string; reason: string }): void =>
    logger.info('task_released', `The daemon hands the task over: ${reason}`, { ...logFields(log), daemon }),

  /** Another daemon owns the task now, or the journal refused a write. */
  lost: (logger: Logger, log: LogId, { daemon, reason }: { daemon: string; reason: string }): void =>
    logger.warn('task_lost', `The daemon does not own the task any more: ${reason}`, {
      ...logFields(log),
      daemon,
    }),

  deadLettered: (logger: Logger, log: LogId, { daemon, claims }: { daemon: string; claims: number }): void =>
    logger.error(
      'task_dead_lettered',
      `Beaver gives up on the task, because ${claims} owners went away without progress.`,
      { ...logFields(log), daemon, claims },
    ),

  /**
   * A daemon can do nothing with a message of the journal or of the queue. It is never delivered again.
   *
   * @param count how many there were since the daemon started
   * @param last whether no further line comes for a minute
   */
  quarantined: (
    logger: Logger,
    log: LogId,
    { daemon, reason, count, last }: { daemon: string; reason: string; count: number; last: boolean },
  ): void =>
    logger.error(
      'message_quarantined',
      `A message is not usable and is set aside: ${reason}${last ? ' More messages are only counted for a minute.' : ''}`,
      {
        ...logFields(log),
        daemon,
        count,
      },
    ),

  /**
   * The actor of a task stopped with an error. Its supervisor decides what happens next. While the journal is
   * away, this is no defect.
   */
  crashed: (logger: Logger, log: LogId, { daemon, error }: { daemon: string; error: unknown }): void =>
    error instanceof BeaverError && (error.code === 'timeout' || error.code === 'unreachable')
      ? logger.warn(
          'task_interrupted',
          `The task stands still until a daemon takes it up again: ${messageOf(error)}`,
          { ...logFields(log), daemon },
        )
      : logger.error('task_crashed', `The task's supervisor stopped with an error: ${messageOf(error)}`, {
          ...logFields(log),
          daemon,
          ...thrown(error),
        }),

  /** An append can never succeed and therefore ends the task. `reason` is the real cause. */
  appendRefused: (logger: Logger, log: LogId, { daemon, reason }: { daemon: string; reason: string }): void =>
    logger.error('append_refused', `The journal cannot store what the task writes: ${reason}`, {
      ...logFields(log),
      daemon,
    }),

  /** What a task writes is larger than the server takes now. */
  appendWaits: (logger: Logger, log: LogId, { daemon, reason }: { daemon: string; reason: string }): void =>
    logger.error(
      'append_waits',
      `The task waits until the server takes larger messages; set its max_payload to 1MB or more. ${reason}`,
      {
        ...logFields(log),
        daemon,
      },
    ),
} as const

/** Facts of the connection, the projector, the stream and the configuration. */
export const systemFacts = {
  /** @param server the address, without credentials */
  connectionDown: (logger: Logger, { server }: { server: string }): void =>
    logger.warn(
      'nats_disconnected',
      'The connection to NATS is down. Beaver connects again as soon as the server answers.',
      { server },
    ),

  connectionUp: (logger: Logger, { server, downMs }: { server: string; downMs: number }): void =>
    logger.info('nats_reconnected', `The connection to NATS is back after ${seconds(downMs)}.`, {
      server,
      down_ms: Math.round(downMs),
    }),

  connectionClosed: (logger: Logger, { server, reason }: { server: string; reason: string }): void =>
    logger.error('nats_closed', `The connection to NATS is closed for good: ${reason}`, { server }),

  /** The server refused something for which nobody waits, such as a permission or a limit. */
  connectionError: (logger: Logger, { server, reason }: { server: string; reason: string }): void =>
    logger.warn('nats_error', `NATS reports an error: ${reason}`, { server }),

  projectorStalled: (
    logger: Logger,
    { applied, last, reason }: { applied: number; last: number | null; reason: string },
  ): void =>
    logger.error('projector_stalled', `The projector does not continue: ${reason}`, {
      applied,
      ...(last === null ? {} : { last }),
    }),

  projectorResumed: (logger: Logger, { applied, stalledMs }: { applied: number; stalledMs: number }): void =>
    logger.info('projector_resumed', `The projector continues after ${seconds(stalledMs)}.`, {
      applied,
      stalled_ms: Math.round(stalledMs),
    }),

  /** It is written again with the next checkpoint, which says everything that this one said. */
  checkpointNotWritten: (logger: Logger, { target, reason }: { target: string; reason: string }): void =>
    logger.warn(
      'checkpoint_not_written',
      `A checkpoint of the journal could not be written to ${target}: ${reason}`,
      { target },
    ),

  checkpointUnfit: (logger: Logger, { file, reason }: { file: string; reason: string }): void =>
    logger.error(
      'checkpoint_unfit',
      `The journal does not fit the last checkpoint in ${file}, so the projector signs no more. ${reason}`,
      { file },
    ),

  checkpointKeyUntrusted: (logger: Logger, reason: string): void =>
    logger.warn('checkpoint_key_untrusted', `The projector signs no checkpoints. ${reason}`),

  tracesUnsent: (logger: Logger, { reason }: { reason: string }): void =>
    logger.warn(
      'traces_unsent',
      `The collector of traces does not take spans: ${reason}. The projector tries again, and no span is lost.`,
    ),

  tracesSentAgain: (logger: Logger): void =>
    logger.info('traces_sent_again', 'The collector of traces takes spans again.'),

  spansRefused: (logger: Logger, { spans, reason }: { spans: number; reason: string }): void =>
    logger.warn(
      'spans_refused',
      `The collector refused ${spans === 1 ? '1 span, so it is' : `${spans} spans, so they are`} left out: ${reason}.`,
      { spans },
    ),

  streamDeleted: (logger: Logger, { stream }: { stream: string }): void =>
    logger.error(
      'stream_deleted',
      'The journal stream does not exist any more. Beaver accepts no tasks until somebody restores it.',
      { stream },
    ),

  streamRecreated: (logger: Logger, { stream, created }: { stream: string; created: string }): void =>
    logger.error(
      'stream_recreated',
      'Another journal stream replaced the one that this process knows. It has other tasks.',
      { stream, created },
    ),

  /** @param servers that hold the journal, in a cluster */
  journalPlaced: (
    logger: Logger,
    { stream, servers }: { stream: string; servers: readonly string[] },
  ): void =>
    servers.length > 1
      ? logger.info(
          'journal_placed',
          `The journal is held by ${servers.length} servers: ${servers.join(', ')}.`,
          { stream, servers: [...servers] },
        )
      : logger.warn(
          'journal_placed',
          'One server of the cluster holds the journal. While it is away, no task goes on. See "beaver nats apply".',
          {
            stream,
            servers: [...servers],
          },
        ),

  streamBack: (logger: Logger, { stream }: { stream: string }): void =>
    logger.info('stream_back', 'The journal stream exists again.', { stream }),

  /** The journal is not as this process saw it before. */
  journalChanged: (
    logger: Logger,
    { kind, message, harmful }: { kind: string; message: string; harmful: boolean },
  ): void =>
    logger[harmful ? 'error' : 'warn'](
      'journal_changed',
      harmful
        ? `${message} Beaver writes nothing until the journal is as before, or until somebody accepts it.`
        : message,
      {
        kind,
      },
    ),

  journalSound: (logger: Logger): void =>
    logger.info('journal_sound', 'The journal is as it was before. Beaver writes again.'),

  /** What was found is as it was before. */
  findingPutRight: (logger: Logger, { kind, message }: { kind: string; message: string }): void =>
    logger.info('finding_put_right', `This is no longer so: ${message}`, { kind }),

  /** Somebody decided that the journal is right as it is. */
  journalAccepted: (
    logger: Logger,
    { id, by, reason, sequence }: { id: string; by: string; reason: string; sequence: number },
  ): void =>
    logger.warn('journal_accepted', `${by} accepted the journal as it is: ${reason}`, {
      acceptance: id,
      sequence,
    }),

  queueUnreadable: (logger: Logger, { error, daemon }: { error: unknown; daemon?: string }): void =>
    logger.warn('queue_unreadable', `The task queue cannot be read: ${messageOf(error)}`, { daemon }),

  alertNotSent: (logger: Logger, { reason }: { reason: string }): void =>
    logger.warn('alert_not_sent', `An alert could not be sent to the webhook of "alerts": ${reason}`),

  /** The calls that the budget bounds wait. */
  accountUnreadable: (logger: Logger, { error, daemon }: { error: unknown; daemon?: string }): void =>
    logger.warn('budget_account_unreadable', `The account of a budget cannot be used: ${messageOf(error)}`, {
      daemon,
    }),

  /**
   * A listener or a callback threw.
   *
   * @param where what the listener listens to
   */
  callbackFailed: (logger: Logger, { where, error }: { where: string; error: unknown }): void =>
    logger.error('callback_failed', `A listener threw: ${messageOf(error)}`, { where, ...thrown(error) }),

  /** A change of a file is not used because it is broken. What the daemon had before stays. */
  changeNotUsed: (logger: Logger, { file, message }: { file: string; message: string }): void =>
    logger.error(
      'change_not_used',
      `A change is not used, and the daemon goes on with what it had: ${message}`,
      { file },
    ),

  filesReadAgain: (logger: Logger, counts: { skills: number; definitions: number; profiles: number }): void =>
    logger.info(
      'files_read_again',
      'Skills, definitions and profiles were read again, because their files have changed.',
      counts,
    ),

  profileChanged: (
    logger: Logger,
    fields: { profile: string; workflow: string; file: string; by: string },
  ): void =>
    logger.info(
      'profile_changed',
      `${fields.by} added ${fields.workflow} to the tools of the profile ${fields.profile}.`,
      fields,
    ),

  configurationDiagnostic: (
    logger: Logger,
    { severity, file, message }: { severity: 'error' | 'warning'; file: string | null; message: string },
  ): void =>
    logger[severity === 'error' ? 'error' : 'warn'](
      'configuration_diagnostic',
      message,
      file === null ? {} : { file },
    ),
} as const

/** Facts of the threads and cells in which agents and their tools run. */
export const threadFacts = {
  /**
   * A worker thread is lost. Its runs start again from the journal.
   *
   * @param suspects the tools that were at work in the thread
   * @param charged the runs that are charged for the loss; the line shows some of them
   * @param stuck whether the thread could not be ended; then the process must end
   */
  lost: (
    logger: Logger,
    {
      thread,
      reason,
      suspects,
      charged,
      runs,
      stuck,
    }: {
      thread: number
      reason: string
      suspects: readonly string[]
      charged: readonly RunPlace[]
      runs: number
      stuck: boolean
    },
  ): void =>
    logger[stuck ? 'error' : 'warn'](
      'thread_lost',
      stuck ? `${reason}; the thread does not end.` : `${reason}. Its runs start again from the journal.`,
      {
        thread,
        suspect_tools: suspects,
        charged: charged.length,
        charged_runs: charged.slice(0, shownMax).map(({ task, run }) => `${task}/${run}`),
        runs,
      },
    ),

  /**
   * A tool left something behind that threw after the call had a result.
   *
   * @param logger a logger with the ids of the call
   */
  threwLate: (logger: Logger, { error }: { error: unknown }): void =>
    logger.warn(
      'tool_threw_late',
      `The tool threw after its call had ended: ${messageOf(error)}`,
      thrown(error),
    ),

  /**
   * A line that a tool printed in a cell.
   *
   * @param logger a logger with the ids of the call
   */
  printed: (logger: Logger, { line }: { line: string }): void => logger.info('tool_printed', line),

  /**
   * A tool prints too much in its cell. The rest is dropped.
   *
   * @param logger a logger with the ids of the call
   */
  printedTooMuch: (logger: Logger, { linesMax, bytesMax }: { linesMax: number; bytesMax: number }): void =>
    logger.warn(
      'tool_print_cut',
      `The tool printed more than ${linesMax} lines or ${bytesMax} bytes. Beaver dropped the rest.`,
    ),
} as const

interface RunPlace {
  readonly task: string
  readonly run: string
}

/** How many runs a line names. */
const shownMax = 5

/** Facts of supervisors (../supervision). */
export const supervisionFacts = {
  /**
   * @param pauseMs the pause before the child is started again
   * @param deaths the deaths within the period, including this one
   */
  restarting: (
    logger: Logger,
    {
      supervisor,
      child,
      reason,
      pauseMs,
      deaths,
      ...fields
    }: { supervisor: string; child: string; reason: string; pauseMs: number; deaths: number } & LogFields,
  ): void =>
    logger.warn('child_restarting', `${child} ended (${reason}). It starts again in ${seconds(pauseMs)}.`, {
      ...fields,
      supervisor,
      child,
      reason,
      pause_ms: Math.round(pauseMs),
      deaths,
    }),

  started: (
    logger: Logger,
    {
      supervisor,
      child,
      restarted,
      ...fields
    }: { supervisor: string; child: string; restarted: boolean; pid?: number | undefined } & LogFields,
  ): void =>
    logger.info(
      restarted ? 'child_restarted' : 'child_started',
      `${child} ${restarted ? 'runs again' : 'runs'}.`,
      { ...fields, supervisor, child },
    ),

  /**
   * The intensity is exceeded, so the supervisor passes the failure on.
   *
   * @param escalation what happens now, in words
   */
  escalated: (
    logger: Logger,
    {
      supervisor,
      child,
      reason,
      deaths,
      escalation,
      ...fields
    }: { supervisor: string; child: string; reason: string; deaths: number; escalation: string } & LogFields,
  ): void =>
    logger.error(
      'supervisor_escalated',
      `${child} ended ${deaths === 1 ? 'once' : `${deaths} times`}, which is too often (last: ${reason}): ${escalation}.`,
      {
        ...fields,
        supervisor,
        child,
        reason,
        deaths,
      },
    ),
} as const

/** Facts of a process of the system. */
export const processFacts = {
  ready: (logger: Logger, { name, info }: { name: string; info: LogFields }): void =>
    logger.info('process_ready', `The ${name} is ready.`, { ...info, process: name }),

  /** A refusal says itself what to do; only a defect has a stack. */
  notStarted: (logger: Logger, { name, error }: { name: string; error: unknown }): void =>
    logger.error('process_not_started', `The ${name} does not start: ${messageOf(error)}`, {
      process: name,
      ...(error instanceof BeaverError && error.code !== 'internal' ? {} : thrown(error)),
    }),

  failed: (logger: Logger, { name, error }: { name: string; error: unknown }): void =>
    logger.error('process_failed', `The ${name} cannot continue: ${messageOf(error)}`, {
      process: name,
      ...thrown(error),
    }),

  /** The process ends, because an error was not caught. */
  crashed: (logger: Logger, { name, error }: { name: string; error: unknown }): void =>
    logger.error(
      'process_crashed',
      `The ${name} ends, because an error was not handled: ${messageOf(error)}`,
      { process: name, ...thrown(error) },
    ),

  stopFailed: (logger: Logger, { name, error }: { name: string; error: unknown }): void =>
    logger.warn('process_stop_failed', `The ${name} did not stop cleanly: ${messageOf(error)}`, {
      process: name,
      ...thrown(error),
    }),

  stoppedLate: (
    logger: Logger,
    { name, stopMsMax, still }: { name: string; stopMsMax: number; still?: string },
  ): void =>
    logger.error(
      'process_stopped_late',
      `The ${name} did not stop within ${seconds(stopMsMax)} and was ended.`,
      {
        process: name,
        ...(still === undefined || still === '' ? {} : { still }),
      },
    ),

  /**
   * Without its watchdog, nothing ends a process whose main thread is blocked. The process works normally
   * otherwise.
   */
  watchdogEnded: (logger: Logger, { name, error }: { name: string; error: unknown }): void =>
    logger.warn('process_unwatched', `The watchdog of the ${name} ended: ${messageOf(error)}`, {
      process: name,
      ...thrown(error),
    }),

  /** A warning of Node.js or of a library, such as a deprecation or too many listeners. */
  warned: (logger: Logger, { name, warning }: { name: string; warning: Error }): void =>
    logger.warn('process_warning', `${warning.name}: ${warning.message}`, {
      process: name,
      ...thrown(warning),
    }),
} as const

const thrown = (error: unknown): LogFields =>
  error instanceof Error && error.stack !== undefined ? { stack: error.stack } : {}

/**
 * A callback that never throws: an error or a rejection of `callback` becomes one line of the log. Use it for
 * functions that a library calls, because an error would end the library's connection or the process.
 *
 * @param where what the callback listens to, for the line
 * @example
 * const lines: string[] = []
 * const onMessage = guarded(loggerOver(({ event }) => lines.push(event)), 'messages', () => {
 *   throw new Error('It is closed.')
 * })
 * onMessage()
 * lines // => ['callback_failed']
 */
export function guarded<A extends readonly unknown[]>(
  logger: Logger,
  where: string,
  callback: (...args: A) => unknown,
): (...args: A) => void {
  const tell = (error: unknown): void => systemFacts.callbackFailed(logger, { where, error })
  return (...args) => {
    try {
      const result = callback(...args)
      if (result instanceof Promise) result.catch(tell)
    } catch (error) {
      tell(error)
    }
  }
}
