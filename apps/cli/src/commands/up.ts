// `beaver up`: runs the whole system on this machine, in the foreground, until Ctrl-C, which is its usual
// end: exit code 0. However the command ends, it leaves no process behind.
import { join, relative } from 'node:path'
import type { TaskSummary } from '@beaver/contracts'
import { BeaverError, messageOf } from '@beaver/core'
import { limitsText } from '@beaver/core/budget'
import { roleLogin, shownUrl } from '@beaver/nats'
import { type Config, runningStatus } from '@beaver/platform'
import { collectGarbageOfStart } from '@beaver/platform/v8-flags'
import { commandName } from '../command-name.ts'
import { connect, type Connection } from '../connection.ts'
import { type Context, type GlobalOptions, workingContextOf } from '../context.ts'
import { checkLoaded, faultLines } from '../doctor/check-loaded.ts'
import type { Finding } from '../doctor/check.ts'
import { listenForInterrupts } from '../interrupts.ts'
import { modelInUse } from '../model.ts'
import type { Screen } from '../screen.ts'
import { loginAt, serverLogAt } from '../system/find-system.ts'
import { linkSays, newLink, runningGateway } from './console.ts'
import { startSystem, type System, type SystemStatus } from '../system/start-system.ts'
import { briefIds } from '../text/brief-ids.ts'
import { counted, duration } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { statusPaint } from '../text/status-paint.ts'
import { cutToWidth, padEnd } from '../text/width.ts'

const fieldColumns = 14

export async function up(globals: GlobalOptions): Promise<number> {
  const context = await workingContextOf(globals, { ask: true })
  const { config, screen } = context
  using interrupts = listenForInterrupts()
  const gateway = Promise.withResolvers<void>()
  const tell = tellStatus(context, gateway.resolve)
  let system: System
  try {
    system = await Promise.race([
      startSystem(config, { signal: interrupts.asked, onStatus: tell, usualGateway: true }),
      forced(interrupts.forced),
    ])
  } catch (error) {
    if (!interrupts.asked.aborted) throw error
    return interrupts.exitCode
  } finally {
    if (screen.live) screen.passing(null)
  }
  interrupts.forced.addEventListener('abort', () => {
    system.kill()
    process.exit(interrupts.exitCode)
  })
  try {
    if (!interrupts.asked.aborted) {
      screen.print(...welcome(context, system, await checkLoaded(config)))
      void gateway.promise.then(() => printLink(context))
      await using connection = await connect({
        url: system.natsUrl,
        login: system.embedded ? loginAt(config.home) : roleLogin(config.natsLogin, 'client'),
        namespace: config.namespace,
        tenant: config.tenant,
        pid: process.pid,
        keysFolder: config.keysFolder,
      })
      for (const text of await journalWarnings(connection)) screen.warn(text)
      collectGarbageOfStart()
      using _watching = watchTasks(connection, (line) => screen.print(line), screen)
      await Promise.race([new Promise<void>((resolve) => onAbort(interrupts.asked, resolve)), system.failed])
    }
    screen.print('')
  } finally {
    await system.stop()
    if (screen.live) screen.passing(null)
  }
  screen.print('Beaver has stopped. Unfinished tasks continue after the next start.')
  return 0
}

/** The faults of the whole journal, because of which the running system may accept no tasks. */
async function journalWarnings({ client }: Connection): Promise<string[]> {
  try {
    const { journal } = await client.query('status')
    return journal.map(({ message }) => `${message} Look at it with "${commandName()} audit".`)
  } catch (error) {
    if (!(error instanceof BeaverError)) throw error
    return [] // The projector does not answer yet. "beaver status" reports the faults later.
  }
}

/**
 * Prints a link to the console. Only a terminal gets the code: others may read a file to which the output goes.
 */
async function printLink({ config, screen }: Context): Promise<void> {
  const { style } = screen
  try {
    if (!screen.interactive) {
      const { url } = runningGateway(config)
      return screen.print(`Console  ${url}/console/`, `To log in: ${commandName()} console`, '')
    }
    const { link } = await newLink(config, { roles: ['admin'], now: new Date() })
    screen.print(
      `${style.bold('Console')}  ${style.cyan(link)}`,
      style.dim(`${linkSays} For another one: ${commandName()} console`),
      '',
    )
  } catch (error) {
    screen.warn(`There is no link to the console: ${messageOf(error)}`)
  }
}

function onAbort(signal: AbortSignal, act: () => void): void {
  if (signal.aborted) act()
  else signal.addEventListener('abort', act, { once: true })
}

const forced = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => onAbort(signal, () => reject(new Error('forced'))))

/** @param hasGateway called when the gateway answers for the first time */
function tellStatus({ screen }: Context, hasGateway: () => void): (status: SystemStatus) => void {
  const { style } = screen
  return (status) => {
    switch (status.kind) {
      case 'home':
        return screen.warn(status.text)
      case 'died':
        return screen.print(
          style.red(
            `${time()}  ${padEnd(status.name, 11)} died (${status.reason}); starting again in ${status.pauseMs / 1000} s (death ${status.deaths} within a minute)`,
          ),
        )
      case 'left_out':
        return screen.warn(`The ${status.name} did not start; everything else goes on. ${status.reason}`)
      case 'ready':
        if (status.name === 'gateway') hasGateway()
        return status.restarted
          ? screen.print(
              style.green(`${time()}  ${padEnd(status.name, 11)} runs again (process ${status.pid})`),
            )
          : undefined
      case 'starting':
      case 'stopping':
        return screen.live
          ? screen.passing(
              style.dim(
                `${status.kind === 'starting' ? 'Starting' : 'Stopping'} the ${status.name} … ${status.kind === 'stopping' ? '(Ctrl-C again stops at once)' : ''}`,
              ),
            )
          : undefined
      default:
        return status satisfies never
    }
  }
}

/** Told with a model that costs money, so that nobody has to find out. */
function budgetOfTasks({ budgets }: Pick<Config, 'budgets'>): string {
  const most = limitsText(budgets.find(({ of }) => of === 'task') ?? {})
  return `${most === '' ? 'nothing bounds what a task may use' : `each task may use ${most}`} ("budgets" of the configuration)`
}

function welcome({ config, screen }: Context, system: System, loaded: readonly Finding[]): string[] {
  const { style } = screen
  const command = commandName()
  const field = (name: string, value: string, paint = (text: string) => text): string =>
    `  ${style.dim(padEnd(name, fieldColumns - 2))}${paint(value)}`
  const home = relative(process.cwd(), config.home) || '.'
  const shownHome = home.startsWith('..') ? config.home : home
  const model = modelInUse(config)
  const part = (name: string): string => {
    const found = system.parts.find((each) => each.name === name)
    return `process ${found?.pid ?? '?'}, log ${shownHome}/logs/${name}.log`
  }
  const { url: gatewayUrl } = system.parts.find((each) => each.name === 'gateway')?.info ?? {}
  return [
    '',
    style.bold('Beaver is up'),
    '',
    field('model', model.text, model.simulated ? style.yellow : undefined),
    ...(model.simulated ? [] : [field('budget', budgetOfTasks(config))]),
    field(
      'nats',
      `${shownUrl(system.natsUrl)}${system.embedded ? ` (started by Beaver; it syncs every write to disk), log ${join(shownHome, relative(config.home, serverLogAt(config.home)))}` : ' (your own server; run it with sync_interval: always)'}`,
    ),
    field('daemon', part('daemon')),
    field('projector', part('projector')),
    ...(typeof gatewayUrl !== 'string'
      ? []
      : [field('gateway', `${gatewayUrl}, log ${shownHome}/logs/gateway.log`)]),
    ...metricsOf(config).map((line, at) => field(at === 0 ? 'metrics' : '', line)),
    field('data', shownHome),
    field('loaded', loaded.find(({ status }) => status === 'ok')?.says ?? 'nothing'),
    ...faultLines(loaded).map((line) => field('', line, style.yellow)),
    '',
    'Submit a task from another terminal:',
    `  ${command} run --skill folder-report "Report on this folder"`,
    'See what there is:',
    `  ${command} tasks`,
    '',
    style.dim('Ctrl-C stops everything. Unfinished tasks continue after the next start.'),
    '',
  ]
}

/** Where the processes show their metrics. A gateway may begin later. */
function metricsOf({ home, status }: Pick<Config, 'home' | 'status'>): string[] {
  if (status.listen === 'off') return []
  const lines = runningStatus(home).map(({ process, url }) => `${url}/metrics (${process})`)
  return [...lines, `to see all of them: ${commandName()} health --json`]
}

function time(at = new Date()): string {
  return at.toTimeString().slice(0, 8)
}

// Prints a line for each task that is accepted or ends, on the screen of `beaver up`. It costs little: it
// listens to the two hints that a task publishes, asks the projector for the rest, and never reads the
// journal. A line may be lost, because nothing depends on it. Many hints lead to one question, and only one
// question is open at a time.

const settleMs = 150
const askAgainMs = 1_000
const asksMax = 20
const newestMax = 50
const knownMax = 1_000
/** On a narrower screen, ids are shortened. */
const roomyColumns = 120

function watchTasks(
  { nc, subjects, client }: Connection,
  print: (line: string) => void,
  screen: Screen,
): Disposable {
  const said = new Map<string, string>()
  const startedAt = Date.now()
  let timer: NodeJS.Timeout | null = null
  let stopped = false
  /**
   * How many further questions to ask until the hints are answered, because the projector may be a moment
   * behind.
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

  /** Prints the news about a task. Returns whether there were any. */
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
