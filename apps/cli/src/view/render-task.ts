// Formats a task for the live view, as a pure function: head, tree and foot.
import { type AgentView, agentsOf, budgetAsks, type TaskView } from '@beaver/core/task-view'
import { briefIds } from '../text/brief-ids.ts'
import { counted, duration } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { cutToWidth, rowsOf, textWidth } from '../text/width.ts'
import { wrapText } from '../text/wrap.ts'
import { budgetQuestion, giveLines } from './budget-lines.ts'
import { askedLines, callsAsked } from './render-asked.ts'
import { renderTree, type TreeOptions } from './render-tree.ts'

export interface TaskOptions extends Omit<TreeOptions, 'rowsMax'> {
  readonly rows: number
  /** The last line: what Ctrl-C does. `null`: none. */
  readonly foot: string | null
  readonly notice: string | null
  /** The command with which a person calls `beaver` here. */
  readonly command: string
}

const simulatedProvider = 'simulated'

/**
 * The lines of the live view.
 *
 * @param options `rows`: the most rows of the terminal that the lines may take. A command may be wider than
 * the terminal, and then takes several rows
 */
export function renderTask(view: TaskView, options: TaskOptions): string[] {
  const { style, symbols, columns, rows } = options
  const dot = ` ${symbols.dot} `
  const cut = (text: string): string => cutToWidth(text, columns, symbols.ellipsis)
  const tight = rows < 10
  const model = view.model === null ? [] : [modelName(view.model)]
  const totals = totalsOf(view)
  const used = [
    duration(elapsedMs(view, options.now)),
    ...(totals.tokens > 0 ? [counted(totals.tokens, 'token')] : []),
  ]
  const factsWith = (ids: readonly string[]): string => [...ids, ...model, ...used].join(dot)
  const taskId = view.submitted?.task_id ?? null
  const id = taskId === null ? [] : [taskId]
  const brief = id.map(briefIds(id))
  // The time and the tokens are more important than the end of the id.
  const facts =
    [factsWith(id), factsWith(brief), [...brief, ...used].join(dot)].find(
      (each) => textWidth(each) <= columns,
    ) ?? used.join(dot)
  const head = [style.bold(cut(oneLine(view.submitted?.request.text ?? ''))), style.dim(cut(facts))]
  const calls = callsAsked(view)
  const asked = taskId === null ? [] : askedLines({ taskId, command: options.command, calls }, options)
  const budgets = taskId === null ? [] : budgetFoot(view, taskId, options)
  const foot = [
    ...asked,
    ...budgets,
    ...(options.notice === null ? [] : [style.yellow(cut(options.notice))]),
    ...(view.cancelling && view.end === null
      ? [style.yellow(cut('Cancelling: the agents are being stopped.'))]
      : options.foot === null
        ? []
        : [style.dim(cut(options.foot))]),
  ]
  const footRows = foot.reduce((sum, line) => sum + rowsOf(line, columns), 0)
  const room = Math.max(1, rows - head.length - footRows - (tight ? 0 : 2))
  const tree = renderTree(view, { ...options, rowsMax: room })
  const waiting = tree.length > 0 ? tree : [style.dim(cut(waitingText(view)))]
  const parts = tight
    ? [head.slice(0, 1), waiting, foot]
    : [head, [''], waiting, ...(foot.length === 0 ? [] : [[''], foot])]
  return withinRows(parts.flat(), Math.max(1, rows), columns)
}

/** What the task waits for in its budgets, and the commands that answer. */
function budgetFoot(view: TaskView, taskId: string, options: TaskOptions): string[] {
  const { columns, command, style, symbols } = options
  return budgetAsks(view).flatMap((ask) => {
    const [why = '', ...spent] = budgetQuestion(ask)
    return [
      ...wrapText(`${symbols.asks} ${why}`, columns).map(style.yellow),
      ...spent.flatMap((line) => wrapText(line, columns - 2)).map((line) => `  ${line}`),
      ...giveLines(ask, { taskId, command }, columns),
    ]
  })
}

/** The first lines that fit into the rows. */
function withinRows(lines: readonly string[], rows: number, columns: number): string[] {
  const kept: string[] = []
  let left = rows
  for (const line of lines) {
    left -= rowsOf(line, columns)
    if (left < 0) break
    kept.push(line)
  }
  return kept
}

export function modelName(model: { provider: string; name: string }): string {
  return model.provider === simulatedProvider ? `simulated model (${model.name})` : model.name
}

function waitingText(view: TaskView): string {
  if (view.submitted === null) return 'Looking for the task …'
  if (view.claims === 0) return 'Waiting for a daemon to take the task …'
  const { workflow } = view.submitted.request
  return workflow === undefined ? 'The root agent starts …' : `${oneLine(workflow.name)} starts …`
}

/** The number of agents that have started, and what all nodes have used together. */
export function totalsOf(view: TaskView): { agents: number; toolCalls: number; tokens: number } {
  const begun = agentsOf(view).filter((agent) => agent.startedAt !== null)
  const sum = (of: (agent: AgentView) => number): number =>
    begun.reduce((total, agent) => total + of(agent), 0)
  return {
    agents: begun.filter((agent) => agent.kind === 'agent').length,
    toolCalls: sum((agent) => agent.toolCalls),
    tokens: sum((agent) => agent.tokens),
  }
}

/** The time from the submission to the end, or to `now`, in milliseconds. */
export const elapsedMs = ({ submittedAt, end }: TaskView, now: number): number =>
  submittedAt === null ? 0 : Math.max(0, (end?.at ?? now) - submittedAt)
