// Formats the actors of the daemons as trees, and below them the policies of their supervisors. Pure. A line fits
// the columns of the terminal: what does not fit is cut, beginning with the facts at its end. Every name comes
// from outside and is cleaned.
import type { ActorLoop, ActorPolicy, ActorTask, ActorTeam, DaemonActors } from '@beaver/contracts'
import type { Screen } from '../screen.ts'
import { briefIds } from '../text/brief-ids.ts'
import { count, counted, duration } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { statusPaint, statusWord } from '../text/status-paint.ts'
import { table } from '../text/table.ts'
import { cutToWidth, textWidth } from '../text/width.ts'
import { branch, type Place, topPlace } from './agent-tree.ts'

type Surface = Pick<Screen, 'columns' | 'style' | 'symbols'>

/** What a daemon holds; or the reason why it did not answer. */
export type AskedDaemon =
  | { readonly kind: 'answered'; readonly actors: DaemonActors }
  | { readonly kind: 'unanswered'; readonly daemon: string; readonly reason: string }

/** An actor, or a line about actors that are left out. */
interface Row {
  readonly name: string
  /** A status, or a word for what is wrong. Absent: there is none. */
  readonly status?: string
  readonly facts: readonly string[]
  readonly below?: readonly Row[]
}

/** The trees of all daemons, and the policies. */
export function actorLines(daemons: readonly AskedDaemon[], surface: Surface): string[] {
  const answered = daemons.flatMap((each) => (each.kind === 'answered' ? [each.actors] : []))
  const ids = answered.flatMap(({ tasks }) => tasks.map(({ task_id: id }) => oneLine(id)))
  const idOf: IdText = surface.columns === Infinity ? (id) => id : briefIds(ids)
  const trees = daemons.flatMap((each) =>
    each.kind === 'answered'
      ? rowLines(daemonRow(each.actors, idOf), topPlace, surface)
      : rowLines(
          { name: `daemon ${oneLine(each.daemon)}`, status: 'did not answer', facts: [oneLine(each.reason)] },
          topPlace,
          surface,
        ),
  )
  const policies = Map.groupBy(answered, (each) => JSON.stringify(each.policies))
  return [
    ...trees,
    ...[...policies.values()].flatMap((of) => [
      '',
      ...policyLines(of, { surface, all: policies.size === 1 }),
    ]),
  ]
}

function rowLines(row: Row, { prefix, below }: Place, surface: Surface): string[] {
  const { style, symbols } = surface
  const children = row.below ?? []
  return [
    style.dim(prefix) + rowText(row, surface.columns - textWidth(prefix), surface),
    ...children.flatMap((child, i) =>
      rowLines(child, branch(below, i === children.length - 1, symbols), surface),
    ),
  ]
}

const gap = '  '

function rowText({ name, status, facts }: Row, columns: number, { style, symbols }: Surface): string {
  const word = status === undefined ? '' : statusWord(status)
  const room = Math.max(1, columns - (word === '' ? 0 : textWidth(word) + gap.length))
  const shown = cutToWidth(name, room, symbols.ellipsis)
  const left = room - textWidth(shown) - gap.length
  const told = cutToWidth(facts.filter((fact) => fact !== '').join(gap), left, symbols.ellipsis)
  return [
    shown,
    ...(word === '' ? [] : [isWrong.has(word) ? style.red(word) : statusPaint(status ?? '', style)(word)]),
    ...(told === '' ? [] : [style.dim(told)]),
  ].join(gap)
}

const isWrong: ReadonlySet<string> = new Set(['did not answer', 'does not answer'])

type IdText = (id: string) => string

function daemonRow(actors: DaemonActors, idOf: IdText): Row {
  const { tasks, tasks_left_out: left } = actors
  return {
    name: `daemon ${oneLine(actors.daemon)}`,
    facts: [`process ${actors.pid}`, `${count(actors.tasks_driven)} of ${counted(actors.tasks_max, 'task')}`],
    below: [
      threadsRow(actors),
      ...tasks.map((task) => taskRow(task, { idOf, actors })),
      ...leftOut(left, 'task'),
    ],
  }
}

const leftOut = (left: number, what: string): Row[] =>
  left === 0 ? [] : [{ name: counted(left, `more ${what}`), facts: [] }]

function threadsRow({ threads, threads_max: max, thread_restarts: restarts, policies }: DaemonActors): Row {
  return {
    name: 'worker threads',
    facts: [
      `${count(threads.length)} of ${count(max)}`,
      usedOf('restarts', restarts, policyNamed(policies, 'worker_pool')),
    ],
    below: threads.map(({ thread, loops, answers }) => ({
      name: `thread ${thread}`,
      ...(answers ? {} : { status: 'does not answer' }),
      facts: [counted(loops, 'loop')],
    })),
  }
}

interface Within {
  readonly idOf: IdText
  readonly actors: Pick<DaemonActors, 'policies'>
}

function taskRow(task: ActorTask, within: Within): Row {
  const { charged, in_a_row: inARow } = task.owners_lost
  const { policies } = within.actors
  const teams = task.teams.map((team) => teamRow(team, within))
  return {
    name: `task ${within.idOf(oneLine(task.task_id))}`,
    status: task.state,
    facts: [
      duration(task.driven_ms),
      usedOf('owners lost', charged, policyNamed(policies, 'task')),
      oneLine(task.workflow ?? ''),
      oneLine(task.title ?? ''),
    ],
    below: [
      ...(inARow === 0
        ? []
        : [
            {
              name: usedOf(
                'owners lost in a row without progress:',
                inARow,
                policyNamed(policies, 'task_without_progress'),
              ),
              facts: [],
            },
          ]),
      ...(task.root === null ? teams : [{ ...loopRow(task.root, within), below: teams }]),
    ],
  }
}

function teamRow(team: ActorTeam, within: Within): Row {
  return {
    name: oneLine(team.workflow),
    status: team.state,
    facts: [`${count(team.nodes_ended)} of ${counted(team.nodes, 'node')} ended`],
    below: [...team.loops.map((loop) => loopRow(loop, within)), ...leftOut(team.loops_left_out, 'loop')],
  }
}

function loopRow(loop: ActorLoop, { actors: { policies } }: Within): Row {
  const { agent, node_id: node, thread, status, restarts, attempt } = loop
  return {
    name: oneLine(node === null || node === agent ? agent : `${node} (${agent})`),
    status: status ?? (thread === null ? 'has no thread yet' : 'does not answer'),
    facts: [
      thread === null ? '' : `thread ${thread}`,
      usedOf('restarts', restarts, policyNamed(policies, 'loop')),
      attempt > 1 ? `attempt ${attempt}` : '',
    ],
  }
}

const policyNamed = (policies: readonly ActorPolicy[], name: string): ActorPolicy | undefined =>
  policies.find(({ supervisor }) => supervisor === name)

/** For example `restarts 1 of 20 in 1 min`. */
function usedOf(what: string, used: number, policy: ActorPolicy | undefined): string {
  if (policy === undefined) return `${what} ${count(used)}`
  const within = policy.period_ms === null ? '' : ` in ${timeText(policy.period_ms)}`
  return `${what} ${count(used)} of ${count(policy.restarts_max)}${within}`
}

/** The policies of daemons that have the same ones. */
function policyLines(
  daemons: readonly DaemonActors[],
  { surface: { columns, style, symbols }, all }: { readonly surface: Surface; readonly all: boolean },
): string[] {
  return [
    ...(all
      ? []
      : [
          style.dim(
            cutToWidth(
              `of ${daemons.map(({ daemon }) => oneLine(daemon)).join(', ')}`,
              columns,
              symbols.ellipsis,
            ),
          ),
        ]),
    ...table<ActorPolicy>(
      [
        { title: 'SUPERVISOR', cell: ({ supervisor }) => oneLine(supervisor) },
        { title: 'OF', cell: ({ children }) => children.replace('_', ' '), optional: 1 },
        { title: 'STRATEGY', cell: ({ strategy }) => strategy },
        { title: 'RESTARTS', cell: allowed },
        { title: 'PAUSE', cell: pauseText },
        { title: 'THEN', cell: ({ when_exceeded: then }) => then },
        { title: 'MEANS', cell: ({ says }) => oneLine(says), flexible: true, optional: 2 },
      ],
      daemons[0]?.policies ?? [],
      { width: columns, title: style.dim, ellipsis: symbols.ellipsis },
    ),
  ]
}

function allowed({ restarts_max: max, period_ms: periodMs, counts }: ActorPolicy): string {
  const within = periodMs === null ? ' in its life' : ` in ${timeText(periodMs)}`
  return `${count(max)}${within}${counts === 'all_children' ? ', all' : ''}`
}

const pauseText = ({ pause }: ActorPolicy): string =>
  pause === null
    ? 'none'
    : `${timeText(pause.ms_min)} to ${timeText(pause.ms_max)}${pause.jitter ? ', jittered' : ''}`

const timeText = (ms: number): string =>
  ms % 60_000 === 0 && ms > 0
    ? `${ms / 60_000} min`
    : ms % 1_000 === 0 && ms > 0
      ? `${ms / 1_000} s`
      : `${ms} ms`
