// Prints one line for each task that is accepted and each that ends, on the screen of `beaver up`. It is
// cheap: it listens to the two hints that a task gives and asks the projector for the rest. It never reads
// journals. Nothing depends on a line, so a line may be lost. Questions are bundled: at most one is open.
import type { TaskSummary } from '@beaver/contracts'
import type { Connection } from '../connection.ts'
import type { Screen } from '../screen.ts'
import { briefIds } from '../text/brief-ids.ts'
import { counted, duration } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { cutToWidth, padEnd } from '../text/width.ts'
import { statusPaint } from '../text/status-paint.ts'

const settleMs = 150
const askAgainMs = 1_000
const asksMax = 20
const newestMax = 50
const knownMax = 1_000
/** On a narrower screen, ids are brief. */
const roomyColumns = 120

export function watchTasks(
  { nc, subjects, client }: Connection,
  print: (line: string) => void,
  screen: Screen,
): Disposable {
  const said = new Map<string, string>()
  const startedAt = Date.now()
  let timer: NodeJS.Timeout | null = null
  let stopped = false
  /**
   * How many questions are due until the hints are answered, because the projector may be a moment behind.
   */
  let due = 0

  const hint = (): void => {
    due = asksMax
    timer ??= setTimeout(() => void ask(), settleMs)
  }
  const subscriptions = [subjects.acceptances, subjects.anyEnded].map((subject) =>
    nc.subscribe(subject, { callback: hint }),
  )

  async function ask(): Promise<void> {
    const answer = await client.query('tasks', { limit: newestMax }).catch(() => null)
    if (stopped) return
    const news = (answer?.tasks ?? [])
      .filter((task) => Date.parse(task.submitted_at ?? '') >= startedAt || isOpen(said.get(task.task_id)))
      .toReversed()
    const told = news.filter(tell).length
    due = told > 0 || news.some((task) => isOpen(task.status)) ? Math.max(due - 1, 0) : 0
    timer = due > 0 ? setTimeout(() => void ask(), told > 0 ? settleMs : askAgainMs) : null
    timer?.unref()
  }

  /** Prints what is new about a task. Returns false if nothing is. */
  function tell(task: TaskSummary): boolean {
    const before = said.get(task.task_id)
    const open = isOpen(task.status)
    if (before !== undefined && (open || before === task.status)) return false
    if (before === undefined) print(lineOf({ ...task, status: 'accepted' }, oneLine(task.text ?? '')))
    if (!open) print(lineOf(task, endOf(task)))
    said.set(task.task_id, open ? 'open' : task.status)
    if (said.size > knownMax) said.delete(said.keys().next().value ?? '')
    return true
  }

  const lineOf = (task: TaskSummary, text: string): string => {
    const head = `${new Date().toTimeString().slice(0, 8)}  `
    const status = padEnd(task.status, 10)
    const id = screen.columns < roomyColumns ? briefIds([task.task_id])(task.task_id) : task.task_id
    const room = screen.columns - head.length - status.length - id.length - 5
    return `${screen.style.dim(head)}${statusPaint(task.status, screen.style)(status)}  ${id}  ${screen.style.dim(cutToWidth(text, Math.max(10, Math.min(120, room))))}`
  }

  return {
    [Symbol.dispose]() {
      stopped = true
      if (timer !== null) clearTimeout(timer)
      for (const subscription of subscriptions) subscription.unsubscribe()
    },
  }
}

const isOpen = (status: string | undefined): boolean =>
  status === 'open' || status === 'submitted' || status === 'running'

function endOf(task: TaskSummary): string {
  const facts = [
    duration(task.elapsed_ms ?? 0),
    counted(task.agents, 'agent'),
    counted(task.input_tokens + task.output_tokens, 'token'),
  ].join(', ')
  return task.failure === null ? facts : `${facts}: ${oneLine(task.failure.message)}`
}
