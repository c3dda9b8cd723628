// Each kind of fault: what it breaks, for how long, and how it is mended. When it comes, and how often,
// belongs to the campaign. A fault that returns has mended what it broke, but for a killed process, which the
// cluster starts again. Two faults at the same time never break the same part: each names the parts it needs.
import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { NatsConnection } from '@nats-io/nats-core'
import type { Cluster, DaemonPlace } from './cluster.ts'
import type { CampaignModel, Outage } from './model.ts'
import type { FaultKind } from './plan.ts'
import type { Random } from './random.ts'

export interface FaultContext {
  readonly cluster: Cluster
  readonly model: CampaignModel
  readonly nc: NatsConnection
  readonly stream: string
  readonly random: Random
  /** Submits a task whose model calls this tool. */
  submitBad(tool: string): Promise<void>
  /** A stopped daemon goes on. */
  thawed(): void
  /** Tasks accepted so far are gone with their stream. */
  forgetTasks(): void
}

/** What a fault breaks: those tasks are watched until their next event. `server`: everything. */
export type Hit =
  | { readonly kind: 'daemon'; readonly daemon: string; readonly dead: boolean }
  | { readonly kind: 'server' }
  | { readonly kind: 'none' }

export interface Fault {
  /** What it breaks: `daemon 0`, `link 0`, `server`, `projector`, `model`, `tools`. */
  readonly part: string
  /** @param hit told at the moment in which it breaks */
  run(context: FaultContext, hit: (hit: Hit) => void): Promise<void>
}

/** One fault of a kind, on parts that are free; `null` when there are none. */
export function faultOf(
  kind: FaultKind,
  { cluster, random }: Pick<FaultContext, 'cluster' | 'random'>,
  busy: ReadonlySet<string>,
): Fault | null {
  const index = random.between(0, cluster.places.length - 1)
  const place = cluster.places[index] as DaemonPlace
  const fault = drawn(kind, place, random)
  const free =
    !busy.has(fault.part) &&
    !(fault.part.startsWith('daemon') && (place.daemon === null || busy.has(`link ${index}`)))
  return free ? fault : null
}

function drawn(kind: FaultKind, place: DaemonPlace, random: Random): Fault {
  const id = place.daemon?.id ?? ''
  const ofDaemon = (dead: boolean): Hit => ({ kind: 'daemon', daemon: id, dead })
  switch (kind) {
    case 'daemon_kill':
      return daemonFault(place, (hit) => (hit(ofDaemon(true)), place.signal('SIGKILL')))
    case 'daemon_term':
      return daemonFault(place, (hit) => (hit(ofDaemon(false)), place.signal('SIGTERM')))
    case 'daemon_freeze': {
      const ms = random.between(300, 9_000)
      return daemonFault(place, async (hit, { thawed }) => {
        hit(ofDaemon(false))
        place.signal('SIGSTOP')
        await sleep(ms)
        thawed()
        place.signal('SIGCONT')
      })
    }
    case 'tool_exit':
    case 'tool_throw':
    case 'tool_reject':
    case 'tool_heap':
    case 'tool_loop':
    case 'tool_wait':
    case 'tool_kill':
      return { part: 'tools', run: ({ submitBad }) => submitBad(kind) }
    case 'projector_kill':
      return { part: 'projector', run: async ({ cluster }) => cluster.killProjector() }
    case 'projector_freeze': {
      const ms = random.between(300, 4_000)
      return { part: 'projector', run: ({ cluster }) => freeze(() => cluster.projectorPid, ms) }
    }
    case 'nats_kill':
    case 'nats_freeze':
    case 'max_payload':
    case 'disk_full':
    case 'consumer_deleted':
    case 'stream_deleted':
      return serverFault(kind, random)
    case 'link_partition':
    case 'link_half_open':
    case 'link_one_way_up':
    case 'link_one_way_down':
    case 'link_latency':
    case 'link_resets':
      return linkFault(kind, place, random, ofDaemon(false))
    case 'provider_503':
    case 'provider_hang':
    case 'provider_reset':
      return outage(kind, random.between(500, 5_000))
    default:
      return kind satisfies never
  }
}

const daemonFault = (
  place: DaemonPlace,
  act: (hit: (hit: Hit) => void, context: FaultContext) => unknown,
): Fault => ({
  part: `daemon ${place.index}`,
  run: async (context, hit) => void (await act(hit, context)),
})

function linkFault(kind: FaultKind, { index, link }: DaemonPlace, random: Random, hurt: Hit): Fault {
  const ms = random.between(500, 8_000)
  const resetAtEnd = random.next() < 0.5
  const resets = random.between(1, 4)
  return {
    part: `link ${index}`,
    async run(_, hit) {
      hit(kind === 'link_latency' ? { kind: 'none' } : hurt)
      if (kind === 'link_resets') {
        for (let i = 0; i < resets; i++) {
          link.reset()
          await sleep(ms / 8)
        }
        return
      }
      if (kind === 'link_latency') link.delay(50 + (ms % 300))
      else if (kind === 'link_partition') link.silence('both', { newToo: true })
      else if (kind === 'link_half_open') link.silence('both', { newToo: false })
      else link.silence(kind === 'link_one_way_up' ? 'up' : 'down', { newToo: true })
      await sleep(ms)
      link.delay(0)
      if (resetAtEnd) link.reset()
      link.silence('none', { newToo: false })
    },
  }
}

function outage(kind: Outage, ms: number): Fault {
  return {
    part: 'model',
    async run({ model }) {
      model.outage = kind
      await sleep(ms)
      model.outage = null
    },
  }
}

type ServerFault =
  | 'nats_kill'
  | 'nats_freeze'
  | 'max_payload'
  | 'disk_full'
  | 'consumer_deleted'
  | 'stream_deleted'

function serverFault(kind: ServerFault, random: Random): Fault {
  const ms = random.between(100, 3_000)
  return {
    part: 'server',
    async run(context, hit) {
      const { cluster } = context
      hit(kind === 'consumer_deleted' ? { kind: 'none' } : { kind: 'server' })
      switch (kind) {
        case 'nats_kill':
          return cluster.killServer(ms / 2)
        case 'nats_freeze':
          return freeze(() => cluster.server.pid, ms)
        case 'max_payload':
          await cluster.reloadServer(['max_payload: 4096'])
          await sleep(ms)
          return cluster.reloadServer([])
        case 'disk_full':
          await cluster.disk?.fill()
          await sleep(ms)
          await cluster.disk?.clear()
          return cluster.killServer(0)
        case 'consumer_deleted':
          return deleteConsumer(context)
        case 'stream_deleted':
          context.forgetTasks()
          await context.nc.request(`$JS.API.STREAM.DELETE.${context.stream}`, '', { timeout: 5_000 })
          await sleep(ms)
          for (const place of cluster.places) place.signal('SIGKILL')
          context.forgetTasks() // those too whose answers were on their way
          cluster.killProjector()
          // It refuses a stream that was made anew, and says that its file has to go.
          return removeModel(cluster.projectorFile)
        default:
          return kind satisfies never
      }
    },
  }
}

async function freeze(pidOf: () => number, ms: number): Promise<void> {
  const pid = pidOf()
  if (pid === 0) return
  process.kill(pid, 'SIGSTOP')
  await sleep(ms)
  if (pidOf() === pid) process.kill(pid, 'SIGCONT')
}

async function removeModel(file: string): Promise<void> {
  for (const end of ['', '-wal', '-shm']) await rm(`${file}${end}`, { force: true })
}

async function deleteConsumer({ nc, stream, random }: FaultContext): Promise<void> {
  const answer = await nc.request(`$JS.API.CONSUMER.NAMES.${stream}`, '', { timeout: 5_000 })
  const { consumers = [] } = answer.json<{ consumers?: string[] }>()
  if (consumers.length > 0)
    await nc.request(`$JS.API.CONSUMER.DELETE.${stream}.${random.pick(consumers)}`, '', { timeout: 5_000 })
}
