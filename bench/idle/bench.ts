// bench idle: what waiting costs. Tasks that wait for their session's earlier task, and tasks that wait for a
// person, on one daemon: what each adds to its heap after a full collection. Then the processor time of a
// system that has nothing to do, and the memory of an idle `beaver up`. The heap is read in the daemon
// itself, over the inspector's signal: no code of the daemon knows of the bench.
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { type BenchedBeaver, startBeaver } from '../beaver.ts'
import { freePort } from '../free-port.ts'
import { startTeamProvider, toolTask } from '../team-provider.ts'
import { heapOf } from './heap-of.ts'
import { memoryOfUp } from './memory-of-up.ts'

const tasks = Number(process.env['BENCH_TASKS'] ?? 10_000)
const idleMs = Number(process.env['BENCH_IDLE_MS'] ?? 20_000)
const goalBytes = 3_072
const clients = 32
/**
 * Before the first reading: the daemon has then done everything once, and holds as many heads of sessions as
 * it ever does.
 */
const warmTasks = 500
/** Their first tasks are under way, and all others wait. */
const sessions = 64

const cases = ['predecessor', 'approval', 'idle', 'up'] as const
type Case = (typeof cases)[number]

/** Arguments are cases. */
export async function run({ json, args }: { json: boolean; args: readonly string[] }): Promise<void> {
  const say = (line: string): void => void process.stderr.write(`${line}\n`)
  const chosen = args.length === 0 ? cases : cases.filter((each) => args.includes(each))
  const figures: Partial<Record<Case, Readonly<Record<string, number>>>> = {}
  for (const each of chosen) {
    figures[each] =
      each === 'up' ? await memoryOfUp() : each === 'idle' ? await idle() : await waiting(each, say)
    say(`${each}: ${JSON.stringify(figures[each])}`)
  }
  if (json)
    process.stdout.write(`${JSON.stringify({ bench: 'idle', figures, ratios: {}, sync: 'always' })}\n`)
  else process.stdout.write(table(figures))
}

const config = { daemon: { tasks_max: 128 }, permissions: { rules: [{ tool: 'echo', decision: 'ask' }] } }

async function waiting(
  kind: 'predecessor' | 'approval',
  say: (line: string) => void,
): Promise<Record<string, number>> {
  // A model that takes an hour keeps the first task of each session under way.
  const provider = await startTeamProvider(kind === 'predecessor' ? 3_600_000 : 0)
  const port = await freePort()
  const beaver = await startBeaver(provider.url, config, {}, [`--inspect-port=${port}`])
  const heap = (): Promise<number> => heapOf(beaver.daemons[0]?.pid ?? 0, port)
  try {
    let submitted = 0
    const submitUpTo = async (count: number): Promise<void> => {
      const submit = async (): Promise<void> => {
        while (submitted < count) {
          const session = `session-${submitted++ % sessions}`
          await beaver.client.submit(
            kind === 'predecessor'
              ? { task: 'Wait.', session_id: session }
              : { task: toolTask('echo', { text: 'a' }) },
          )
          if (submitted % 1_000 === 0) say(`${kind}: ${submitted} of ${tasks}`)
        }
      }
      await Promise.all(Array.from({ length: clients }, submit))
      await quiet(beaver)
    }
    await submitUpTo(warmTasks)
    const before = await heap()
    const since = performance.now()
    await submitUpTo(warmTasks + tasks)
    const seconds = (performance.now() - since) / 1_000
    const after = await heap()
    return {
      tasks,
      heap_before_bytes: before,
      heap_after_bytes: after,
      bytes_per_task: Math.round((after - before) / tasks),
      seconds: Math.round(seconds),
    }
  } finally {
    await beaver.stop()
    provider.stop()
  }
}

/** Waits until the daemon has nothing more to do. */
async function quiet({ daemons }: BenchedBeaver): Promise<void> {
  const pid = daemons[0]?.pid ?? 0
  for (let before = cpuMsOf(pid); ;) {
    await sleep(1_000)
    const now = cpuMsOf(pid)
    if (now - before <= 50) return
    before = now
  }
}

async function idle(): Promise<Record<string, number>> {
  const provider = await startTeamProvider(0)
  const beaver = await startBeaver(provider.url)
  try {
    await quiet(beaver)
    const [server = 0, daemon = 0] = beaver.pids
    const before = [cpuMsOf(server), cpuMsOf(daemon)] as const
    await sleep(idleMs)
    const perMinute = (from: number, to: number): number => Math.round(((to - from) * 60_000) / idleMs)
    return {
      nats_server_ms_per_minute: perMinute(before[0], cpuMsOf(server)),
      daemon_ms_per_minute: perMinute(before[1], cpuMsOf(daemon)),
    }
  } finally {
    await beaver.stop()
    provider.stop()
  }
}

/** Processor time of all threads, in milliseconds; 0 where there is no /proc. */
function cpuMsOf(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    return 0
  }
}

function table(figures: Partial<Record<Case, Readonly<Record<string, number>>>>): string {
  const wait = (kind: 'predecessor' | 'approval', title: string): string[] => {
    const of = figures[kind]
    if (of === undefined) return []
    return [
      `${`${of['tasks']} tasks that wait for ${title}`.padEnd(48)}${String(of['bytes_per_task']).padStart(8)} bytes each   (goal ≤ ${goalBytes})`,
    ]
  }
  const idleOf = figures.idle
  return [
    '',
    `What waiting costs on one daemon with tasks_max 128; ${cpus().length} × ${cpus()[0]?.model.trim()}; Node.js ${process.version}; JetStream sync: always`,
    '',
    ...wait('predecessor', "their session's earlier task"),
    ...wait('approval', 'a person'),
    ...(idleOf === undefined
      ? []
      : [
          `processor time of an idle system a minute${''.padEnd(7)}${String(idleOf['daemon_ms_per_minute']).padStart(8)} ms daemon, ${idleOf['nats_server_ms_per_minute']} ms nats-server`,
        ]),
    ...(figures.up === undefined
      ? []
      : [
          `memory of an idle "beaver up"${''.padEnd(19)}${String(figures.up['all_mb']).padStart(8)} MiB   (${Object.entries(
            figures.up,
          )
            .filter(([key]) => key !== 'all_mb')
            .map(([key, mb]) => `${key.slice(0, -3).replace('_', '-')} ${mb}`)
            .join(', ')})`,
        ]),
    '',
  ].join('\n')
}
