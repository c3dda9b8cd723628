// `beaver status`: shows what runs, which tasks are open, what they wait for, and what is wrong. Exit code 0
// if nothing fails, otherwise 1. If no system can be asked, the exit code is that of the error, as for other
// commands.
import type { TaskSummary } from '@beaver/contracts'
import { BeaverError, errorCodes } from '@beaver/core'
import type { Config } from '@beaver/platform'
import { type Context, contextOf, type GlobalOptions } from '../context.ts'
import type { Finding } from '../doctor/check.ts'
import { serverAway } from '../doctor/check-system.ts'
import { systemFindings } from '../doctor/system-findings.ts'
import type { Screen } from '../screen.ts'
import { examineSystem, type SystemReport } from '../system/examine-system.ts'
import { findSystem } from '../system/find-system.ts'
import { briefIds } from '../text/brief-ids.ts'
import { findingLines } from '../text/finding-lines.ts'
import { count, counted, duration, moment } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { followersText } from '../text/placed-stream.ts'
import { statusPaint, statusWord } from '../text/status-paint.ts'
import { table } from '../text/table.ts'
import { type ConfiguredServer, configuredServers, serverStateText } from '../text/mcp-servers.ts'
import { padEnd } from '../text/width.ts'

const waitingMax = 10

export async function status(
  { json, actors }: { readonly json?: true; readonly actors?: true },
  globals: GlobalOptions,
): Promise<number> {
  const context = contextOf(globals)
  const { screen } = context
  const found = findSystem(context.config)
  let report: SystemReport
  try {
    if (actors === true)
      return await (await import('./status-actors.ts')).statusActors(found, { json: json === true, screen })
    report = await examineSystem(found)
  } catch (error) {
    if (!(error instanceof BeaverError)) throw error
    const finding = serverAway(found, error)
    if (json === true) screen.json({ ok: false, findings: [finding] })
    else screen.print(...findingLines(finding, screen))
    return errorCodes[error.code].exit
  }
  const now = Date.now()
  // Findings that the doctor also reports for a sound system. The status leaves them out.
  const known = new Set([
    'sync policy',
    'nats version',
    ...(report.daemon.kind === 'answered' && report.daemon.value.provider === 'simulated' ? ['model'] : []),
  ])
  const wrong = systemFindings(report, now).filter(
    (finding) => finding.status !== 'ok' && !known.has(finding.name),
  )
  const healthy = wrong.every((finding) => finding.status !== 'fail')
  const servers = await configuredServers(context.config)
  if (json === true) screen.json({ ok: healthy, ...answerOf(report, context, servers), findings: wrong })
  else
    screen.print(
      ...statusLines(report, { screen, now, wrong, managedMcp: context.config.managedMcp, servers }),
    )
  return healthy ? 0 : 1
}

function answerOf(
  {
    server,
    version,
    serverLog,
    stream,
    look,
    streams,
    daemons,
    daemon,
    projector,
    waiting,
    failed,
  }: SystemReport,
  { config }: Context,
  servers: readonly ConfiguredServer[],
): object {
  return {
    nats: { url: server, version, log: serverLog },
    namespace: config.namespace,
    journal:
      look.kind === 'there'
        ? { stream, state: 'there', last_sequence: look.lastSequence }
        : { stream, state: look.kind },
    streams: streams.map(({ name, num_replicas: replicas, cluster, leader, followers }) => ({
      stream: name,
      replicas,
      cluster,
      leader,
      followers,
    })),
    daemons,
    mcp: [...Object.entries(config.managedMcp).map(([name, server]) => ({ name, ...server })), ...servers],
    model: daemon.kind === 'answered' ? { provider: daemon.value.provider, model: daemon.value.model } : null,
    projector: projector.kind === 'answered' ? projector.value : null,
    waiting: waiting.map((task) => ({ task_id: task.task_id, session_id: task.session_id, ...waitOf(task) })),
    failed: failed.map(({ task_id, session_id, ended_at, failure }) => ({
      task_id,
      session_id,
      ended_at,
      failure,
    })),
  }
}

interface Shown extends Pick<Config, 'managedMcp'> {
  readonly screen: Screen
  readonly now: number
  readonly wrong: readonly Finding[]
  readonly servers: readonly ConfiguredServer[]
}

export function statusLines(
  report: SystemReport,
  { screen, now, wrong, managedMcp, servers }: Shown,
): string[] {
  const { style } = screen
  const field = (name: string, value: string): string => `${style.dim(padEnd(name, 11))}${value}`
  return [
    field('nats', `${report.server}, nats-server ${report.version}`),
    ...(report.serverLog === null ? [] : [field('', `log ${report.serverLog}`)]),
    field(
      'journal',
      report.look.kind === 'there'
        ? `${report.stream}, ${counted(report.look.lastSequence, 'message')}`
        : `${report.stream}, ${report.look.kind}`,
    ),
    ...replicaLines(report).map((line) => field('replicas', line)),
    ...daemonLines(report).map((line, i) => field(i === 0 ? 'daemons' : '', line)),
    ...Object.entries(managedMcp).map(([name, { display_name: what, runs_in: place }]) =>
      field('mcp', `${name}  ${what}, managed by Beaver, in each ${place}`),
    ),
    ...servers.map((server) => field('', `${oneLine(server.name)}  ${serverStateText(server)}`)),
    field('projector', projectorLine(report)),
    field('tasks', tasksLine(report, screen)),
    ...waitingLines(report.waiting, screen, now),
    ...(wrong.length === 0 ? [] : ['', ...wrong.flatMap((finding) => findingLines(finding, screen))]),
  ]
}

/**
 * Where a cluster holds the journal. Empty without a cluster. The findings say what is wrong with streams.
 */
function replicaLines({ streams }: SystemReport): string[] {
  const journal = streams.find(({ what, cluster }) => what === 'journal' && cluster !== null)
  if (journal === undefined) return []
  const { num_replicas: replicas, leader, followers } = journal
  return [
    `${count(replicas)}, on ${leader ?? 'no server'} (leader)${followers.length === 0 ? '' : `, ${followersText(journal)}`}`,
  ]
}

function daemonLines({ daemons, daemon }: SystemReport): string[] {
  if (daemons.length === 0)
    return [
      daemon.kind === 'answered' ? `${daemon.value.daemon}  ${counted(daemon.value.tasks, 'task')}` : 'none',
    ]
  return daemons.map(({ daemon: id, tasks, refused = 0, journal_silent_ms: silent = 0 }) =>
    [
      id,
      tasks === undefined ? 'there' : counted(tasks, 'task'),
      ...(refused > 0 ? [`${counted(refused, 'message')} refused`] : []),
      ...(silent > 2_000 ? [`journal silent for ${duration(silent)}`] : []),
    ].join('  '),
  )
}

function projectorLine({ projector }: SystemReport): string {
  if (projector.kind === 'unanswered') return 'away'
  const { events, behind, findings, quarantined } = projector.value
  return `${counted(events, 'event')}, ${(behind ?? 0) <= 1 ? 'up to date' : `${count(behind ?? 0)} behind`}, ${counted(findings, 'finding')}${quarantined === 0 ? '' : `, ${counted(quarantined, 'message')} in quarantine`}`
}

function tasksLine({ projector }: SystemReport, { style }: Screen): string {
  if (projector.kind === 'unanswered') return 'not known, because the projector does not answer'
  const { by_status: byStatus, tasks } = projector.value
  const parts = Object.entries(byStatus).map(([name, n]) =>
    statusPaint(name, style)(`${count(n)} ${statusWord(name)}`),
  )
  return tasks === 0 ? 'none yet' : parts.join(', ')
}

/** What a task waits for: a person's decision about a call, or what its suspension names. */
function waitOf({ wait, waits_for: call }: TaskSummary): {
  readonly waits_for: string
  readonly until: string | null
  readonly reason: string
} {
  if (call !== null)
    return {
      waits_for: 'person',
      until: wait?.until ?? null,
      reason: `${call.tool} ${oneLine(call.subject)}`,
    }
  return {
    waits_for: wait?.for ?? 'unknown',
    until: wait?.until ?? null,
    reason: oneLine(wait?.reason ?? ''),
  }
}

function waitingLines(tasks: readonly TaskSummary[], screen: Screen, now: number): string[] {
  if (tasks.length === 0) return []
  const rows = tasks.slice(0, waitingMax).map((task) => ({ task, ...waitOf(task) }))
  const brief = briefIds(rows.map(({ task }) => task.task_id))
  const lines = table(
    [
      { title: 'WAITING', cell: ({ task }) => task.task_id, brief: ({ task }) => brief(task.task_id) },
      { title: 'FOR', cell: (row) => row.waits_for },
      {
        title: 'SINCE',
        cell: ({ task }) => (task.submitted_at === null ? '' : moment(task.submitted_at, now)),
        optional: 2,
      },
      { title: 'UNTIL', cell: ({ until }) => (until === null ? '' : moment(until, now)), optional: 1 },
      { title: 'WHY', cell: ({ reason }) => reason, flexible: true },
    ],
    rows,
    { width: screen.columns, title: screen.style.dim },
  )
  const more = tasks.length - rows.length
  return [
    '',
    ...lines,
    ...(more > 0 ? [screen.style.dim(`${more} more: beaver tasks --status waiting`)] : []),
  ]
}
