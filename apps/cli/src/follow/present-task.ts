// Presents a task that is followed, and its end: as a live view, as plain lines or as lines of JSON.
import { isProgress, type LiveUpdate } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import { type FailureClass, outageClasses } from '@beaver/core/supervision'
import {
  agentTitle,
  budgetAsks,
  describeEvent,
  evolveTaskView,
  newTaskView,
  type Surroundings,
  type TaskView,
} from '@beaver/core/task-view'
import { commandName } from '../command-name.ts'
import { UsageError } from '../failures.ts'
import type { Screen } from '../screen.ts'
import { counted, duration } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { paintReport, shownOutput } from '../text/report.ts'
import { cutToWidth, padEnd, padStart } from '../text/width.ts'
import { wrapWords } from '../text/wrap.ts'
import { budgetQuestion, giveLines, waitKey } from '../view/budget-lines.ts'
import { liveFrames, type LiveFrames } from '../view/live-frames.ts'
import { liveText, type LiveText } from '../view/live-text.ts'
import {
  answerLines,
  callsAsked,
  nameAmong,
  nameOf,
  questionLines,
  questionsAsked,
} from '../view/render-asked.ts'
import { keptLines } from '../view/render-kept.ts'
import { answerCommands, questionText } from '../view/render-question.ts'
import { elapsedMs, modelName, renderTask, totalsOf } from '../view/render-task.ts'
import type { TaskEnd } from './follow-task.ts'

/** The output of one task. The caller passes all events, in their order. */
export interface Presentation {
  readonly view: TaskView
  onEvent(event: RecordedEvent): void
  /**
   * Receives pieces of the models' answers and the progress of calls. `null`: this presentation shows
   * neither.
   */
  readonly onLive: ((update: LiveUpdate) => void) | null
  onNotice(notice: string | null): void
  /** Prints lines that stay on the screen, above a live view. */
  say(...lines: readonly string[]): void
  /** The live view, which can be paused for a question. `null`: there is none. */
  readonly live: Pick<LiveView, 'pause'> | null
  /** Leaves the screen ready for other output. Call it before anything else is printed. */
  close(): void
}

/** The lines that `--json` prints for an event and, as the last line, for the result. */
export interface JsonLines {
  /** `node` is the node whose run wrote the event; `null` if the event belongs to no node. */
  ofEvent(event: RecordedEvent, node: string | null): readonly object[]
  result(end: TaskEnd): Record<string, unknown>
}

/** Prints the events of a task as they were written, then its result. */
export const taskLines: JsonLines = {
  ofEvent: (event, node) => [{ event: eventJson(event, node) }],
  result: resultJson,
}

export interface PresentOptions {
  /** The lines of JSON to print. `null`: the output is for a person. */
  readonly json: JsonLines | null
  /** Whether to print pieces of the models' answers as lines of JSON, too. Default: false. */
  readonly deltas?: boolean
  /** Whether to print only the report, at the end. */
  readonly quiet: boolean
  /** The last line of the live view, which says what Ctrl-C does. */
  readonly foot: string
}

/**
 * Checks the options that concern the output.
 *
 * @throws {UsageError} for an option that would have no effect
 */
export function mustFollowAs({ json, deltas }: { readonly json?: true; readonly deltas?: true }): void {
  if (deltas === true && json !== true) throw new UsageError('The option --deltas needs --json.')
}

/** The indent of the lines below the line of an event, in plain output. */
const answersIndent = 29

/** Makes the presentation: a live view if the screen can show one and neither `json` nor `quiet` is set. */
export function presentTask(screen: Screen, options: PresentOptions): Presentation {
  const view = newTaskView()
  const { json, quiet, foot } = options
  const command = commandName()
  const liveTexts = liveText()
  const live: LiveView | null =
    screen.live && json === null && !quiet ? liveView(screen, view, { foot, command, liveTexts }) : null
  /** Without a live view, prints a question once, with the commands that answer it. */
  const askQuestion = (event: Extract<RecordedEvent, { type: 'question_asked' }>): void => {
    const asked = questionsAsked(view)
    const one = asked.find(({ runId, callId }) => runId === event.runId && callId === event.data.call_id)
    if (one === undefined || view.submitted === null) return
    const name = asked.length > 1 ? nameOf(one, asked) : null
    const [first = '', ...options] = questionText(one)
    const lines = [
      ...options,
      ...answerCommands({ taskId: view.submitted.task_id, command, name }, one.question, Infinity),
    ]
    if (quiet) screen.warn(first, ...lines)
    else screen.print(...lines.map((line) => ' '.repeat(answersIndent) + line))
  }
  /** Without a live view, prints a waiting call once, with the commands that answer it. */
  const ask = (event: RecordedEvent): void => {
    if (event.type === 'question_asked') return askQuestion(event)
    const calls = event.type === 'approval_requested' ? callsAsked(view) : []
    const call = calls.find(
      (each) =>
        each.runId === event.runId &&
        event.type === 'approval_requested' &&
        each.callId === event.data.call_id,
    )
    if (call === undefined || view.submitted === null) return
    const asked = { taskId: view.submitted.task_id, command, name: nameAmong(call, calls) }
    const surface = { columns: Infinity, style: screen.errorStyle, symbols: screen.symbols }
    if (quiet) screen.warn(...questionLines(call, surface), ...answerLines(asked, surface))
    else screen.print(...answerLines(asked, surface).map((line) => ' '.repeat(answersIndent) + line))
  }
  const told = new Set<string>()
  /** Without a live view, says once for which budget the task waits, with the commands that answer. */
  const askForMore = (): void => {
    for (const each of budgetAsks(view)) {
      if (told.has(waitKey(each)) || view.submitted === null) continue
      told.add(waitKey(each))
      const [why = '', ...spent] = budgetQuestion(each)
      const lines = giveLines(each, { taskId: view.submitted.task_id, command }, Infinity)
      if (quiet) screen.warn(why, ...spent, ...lines)
      else
        screen.print(
          ...[...spent.map((line) => `  ${line}`), ...lines].map((line) => ' '.repeat(answersIndent) + line),
        )
    }
  }
  return {
    view,
    live,
    onEvent(event) {
      evolveTaskView(view, event)
      liveTexts.event(event)
      if (live !== null) live.notice = null
      if (json !== null) {
        for (const line of json.ofEvent(event, nodeOf(event, view))) screen.jsonLine(line)
        return
      }
      if (live !== null) return
      if (!quiet) {
        const line = tellEvent(event, view)
        if (line !== null) screen.print(line)
      }
      ask(event)
      askForMore()
    },
    onLive:
      json !== null && options.deltas === true
        ? (update) => screen.jsonLine(isProgress(update) ? { progress: update } : { delta: update })
        : live === null
          ? null
          : liveTexts.update,
    onNotice(notice) {
      if (live !== null) live.notice = notice
      else if (notice !== null) screen.warn(notice)
    },
    say(...lines) {
      const resume = live?.pause()
      screen.warn(...lines.map(screen.errorStyle.yellow))
      resume?.()
    },
    close: () => live?.finish(),
  }
}

/** The node that the event names, otherwise the node whose run wrote the event; `null` if there is none. */
function nodeOf({ runId, data }: RecordedEvent, view: TaskView): string | null {
  const named = (data as { readonly node_id?: unknown }).node_id
  if (typeof named === 'string') return named
  const agent = runId === undefined ? undefined : view.byRun.get(runId)
  return agent?.isNode === true ? agent.name : null
}

function eventJson(event: RecordedEvent, node: string | null): Record<string, unknown> {
  const { taskseq, type, epoch, time, runId, data, hash } = event
  return { taskseq, type, epoch, time, run_id: runId ?? null, node_id: node, data, hash }
}

/** The last line of `--json`. */
function resultJson(end: TaskEnd): Record<string, unknown> {
  const {
    final_output,
    output,
    outputs,
    usage,
    provider,
    model,
    simulated,
    failure,
    unfit_output: unfit,
  } = end.result
  const value = output === undefined ? {} : { output }
  const unfitOutput = unfit === undefined ? {} : { unfit_output: unfit }
  return {
    task_id: end.task_id,
    session_id: end.session_id,
    status: end.status,
    final_output,
    ...value,
    outputs,
    usage,
    provider,
    model,
    simulated,
    failure,
    ...unfitOutput,
  }
}

/** The classes of failures that a wrong configuration of a model may cause. */
const ofModel: ReadonlySet<FailureClass> = new Set(['provider_refused', ...outageClasses])

export const unfitTitle = 'The last text of the agent, which was not accepted'

/** Prints the report, a summary, and the commands that show more. */
export function printEnd(
  screen: Screen,
  end: TaskEnd,
  view: TaskView,
  further: { command: string; quiet: boolean },
): void {
  const { style } = screen
  const { final_output: report, failure, unfit_output: unfit } = end.result
  if (further.quiet) {
    const text = screen.interactive ? paintReport(report, style) : report
    if (report !== '') screen.print(text.replace(/\n$/, ''))
    if (failure !== null)
      screen.warn(
        `The task ${end.status === 'incomplete' ? 'is incomplete' : end.status}: ${oneLine(failure.message)}`,
      )
    if (unfit !== undefined) screen.warn(`${unfitTitle}:`, shownOutput(unfit, screen).trimEnd())
    return
  }
  if (report !== '') screen.print('', shownOutput(report, screen).trimEnd())
  screen.print(
    ...keptLines({ status: end.status, final_output: report, outputs: end.result.outputs }, screen),
  )
  screen.print('', ...summaryLines(screen, end, view))
  if (failure !== null) screen.print(style.red(`Why: ${oneLine(failure.message)}`))
  if (failure !== null && ofModel.has(failure.class))
    screen.print(`Find out what is wrong with the model: ${further.command} doctor`)
  if (unfit !== undefined) screen.print(style.bold(`${unfitTitle}:`), shownOutput(unfit, screen).trimEnd())
  if (end.result.simulated) {
    const text =
      'The model was simulated: its words follow rules; what the tools returned is real. Set OPENAI_API_KEY to use a model.'
    screen.print(style.yellow(text))
  }
  screen.print('', ...furtherLines(screen, end.task_id, further))
}

function furtherLines(
  { columns, style }: Screen,
  taskId: string,
  { command }: { command: string },
): string[] {
  const looks: readonly (readonly [string, string])[] = [
    ['show', 'agents, evidence, usage, integrity'],
    ['timeline', 'what happened, step by step'],
    ['events', 'the journal as it was written'],
  ]
  const typed = (name: string): string => `  ${command} ${name} ${taskId}`
  const width = Math.max(...looks.map(([name]) => typed(name).length)) + 3
  const roomy = looks.every(([, says]) => width + says.length <= columns)
  return [
    'Look further:',
    ...looks.map(([name, says]) => (roomy ? `${padEnd(typed(name), width)}${style.dim(says)}` : typed(name))),
  ]
}

/** The summary: one line, or several on a narrow terminal. No fact is split between lines. */
function summaryLines({ columns, style, symbols }: Screen, end: TaskEnd, view: TaskView): string[] {
  const good = end.status === 'completed'
  const totals = totalsOf(view)
  const { usage, provider, model } = end.result
  const facts = [
    ...(totals.agents === 0 ? [] : [counted(totals.agents, 'agent')]),
    counted(totals.toolCalls, 'tool call'),
    counted(usage.input_tokens + usage.output_tokens, 'token'),
    duration(elapsedMs(view, Date.now())),
    ...(provider === null || model === null ? [] : [modelName({ provider, name: model })]),
  ]
  const paint = good ? style.green : end.status === 'cancelled' ? style.yellow : style.red
  const icon = good ? symbols.done : end.status === 'cancelled' ? symbols.cancelled : symbols.failed
  const head = `${icon} ${end.status}`
  const whole = [head, ...facts].map((fact) => fact.replaceAll(' ', '\u00a0')).join(`\u00a0${symbols.dot} `)
  const lines = wrapWords(whole, columns, '  ').map((line) => line.replaceAll('\u00a0', ' '))
  return lines.map((line, i) => (i === 0 ? paint(style.bold(head)) + line.slice(head.length) : line))
}

/** The exit code: 0 if the task completed, otherwise 1. */
export function exitOf(end: TaskEnd): number {
  return end.status === 'completed' ? 0 : 1
}

// Formats an event as one plain line if no live view is possible: when, who, what. Events without news for a
// person get no line.

const whoColumns = 18
const whatColumnsMax = 240

/** The line of an event; `null` if the event is no news. `view` already includes the event. */
export function tellEvent(event: RecordedEvent, view: TaskView): string | null {
  const { who, what, news } = describeEvent(event, around(event, view))
  if (!news) return null
  const at = view.submittedAt === null ? 0 : Date.parse(event.time) - view.submittedAt
  const name = padEnd(cutToWidth(oneLine(who), whoColumns), whoColumns)
  return `${padStart(duration(at), 9)}  ${name}  ${cutToWidth(oneLine(what), whatColumnsMax)}`
}

function around(event: RecordedEvent, view: TaskView): Surroundings {
  const { data } = event
  const runId = event.runId ?? null
  const agent = runId === null ? undefined : view.byRun.get(runId)
  const asked = 'call_id' in data ? agent?.calls.find(({ id }) => id === data.call_id)?.asked : null
  const team =
    'team_run_id' in data && data.team_run_id !== null ? view.teams.get(data.team_run_id) : undefined
  return {
    taskId: view.submitted?.task_id ?? '',
    runId,
    agentName: agentTitle(agent?.isNode === true ? { team_run_id: '', agent_name: agent.name } : null),
    team:
      team === undefined
        ? null
        : {
            workflow: team.workflow,
            nodes: team.nodeCount,
            completed: team.nodes.filter((node) => node.state === 'completed').length,
          },
    nodeTool: agent?.node?.kind === 'tool' ? agent.node.tool : null,
    asked: asked === null || asked === undefined ? null : { tool: asked.tool_name, subject: asked.subject },
    takenOver: view.takenOver,
  }
}

// The live view draws a task in place on a terminal (view/live-frames.ts).

interface LiveView extends Pick<LiveFrames, 'pause' | 'finish'> {
  /** A text in yellow. `null`: none. The last frame, which also has no foot, is without it. */
  notice: string | null
}

const finalRowsMin = 60

interface LiveOptions {
  readonly foot: string
  /** The command with which a person calls `beaver` here. */
  readonly command: string
  readonly liveTexts: LiveText
}

/** Starts the live view of `view`, which the caller changes. `finish` must be called at the end. */
export function liveView(screen: Screen, view: TaskView, options: LiveOptions): LiveView {
  const { foot, command, liveTexts } = options
  const { style, symbols } = screen
  let notice: string | null = null
  const frames = liveFrames(
    screen,
    ({ number, columns, rows, isLast }) =>
      renderTask(view, {
        now: Date.now(),
        columns,
        rows,
        frame: number,
        style,
        symbols,
        foot: isLast ? null : foot,
        notice: isLast ? null : notice,
        command,
        liveTexts,
      }),
    { lastRowsMin: finalRowsMin },
  )
  return {
    get notice() {
      return notice
    },
    set notice(text) {
      notice = text
    },
    pause: () => frames.pause(),
    finish: () => frames.finish(),
  }
}
