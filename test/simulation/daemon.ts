// A daemon of a simulated world: the real supervisors of packages/runtime, over ports whose messages travel
// through the scheduler.
import { type SubmitRequest, submitRequest, type SubmittedTask } from '@beaver/contracts'
import { type Ids, type LogId, type Peers, silentLogger } from '@beaver/core'
import type { Delivery, TaskQueue } from '@beaver/core/journal'
import {
  acceptanceLines,
  type TaskDriver,
  type HandedOn,
  type IntakePorts,
  startTaskDriver,
  startSweep,
  submitTask,
  type Sweep,
} from '@beaver/runtime'
import { carryOut, type Command } from './commands.ts'
import { Life, type LifeOptions } from './life.ts'
import { type SimPool, simPool } from './loop.ts'
import { callPeer } from './peer-call.ts'
import { journalOf, queueOf } from './ports.ts'
import type { SimServer } from './server.ts'
import type { Watch } from './watch.ts'

export interface SimDaemon {
  readonly id: string
  readonly life: Life
  readonly daemon: TaskDriver
  readonly pool: SimPool
  readonly sweep: Sweep
  readonly tasksMax: number
  /** The lies it is told about others. */
  readonly lies: { gone: number; silent: number }
  draining: boolean
  submit(request: SubmitRequest): Promise<SubmittedTask>
  command(log: LogId, command: Command): Promise<void>
  drain(graceMs: number): Promise<void>
}

export interface SimDaemonOptions extends LifeOptions {
  readonly server: SimServer
  readonly watch: Watch
  readonly tasksMax: number
  readonly leaseMs: number
  readonly ids: Ids
  /** Another daemon, by its id. */
  readonly peer: (id: string) => SimDaemon | undefined
}

const silentMsMax = 2_000
const leaseAnswerMsMax = 1_000
const limits = {
  toolIterationsMax: 20,
  nodeToolIterationsMax: 20,
  repeatsMax: 5,
  concurrentNodesMax: 16,
  teamRunsMax: 4,
  graphMax: { agents: 512, edges: 8192 },
  teamDeadlineMs: null,
  nodeDeadlineMs: null,
  ownersLostMax: 5,
  unattended: 'wait',
  approvalWaitMsMax: 86_400_000,
} as const

export function startSimDaemon(of: SimDaemonOptions): SimDaemon {
  const { server, watch, tasksMax, leaseMs, ids, id } = of
  const life = new Life(of)
  const source = `/beaver/daemons/${id}`
  const journal = journalOf(life, server)
  const queue = queueOf(life, server)
  const pool = simPool(life, source, watch)
  const lies = { gone: 0, silent: 0 }
  const ports = { journal, blobs: server.blobs, clock: life.clock, ids, logger: silentLogger, source }

  const calling = { life, scheduler: of.scheduler, peer: of.peer }

  async function handOn(owner: string, delivery: Delivery): Promise<HandedOn> {
    const how = await callPeer(calling, owner, leaseAnswerMsMax, (peer) =>
      peer.daemon.takeOver(peerQueue(peer).adopt(delivery)),
    )
    return how === 'silent' ? 'gone' : how
  }
  const peerQueue = (peer: SimDaemon): TaskQueue => queueOf(peer.life, server)

  const daemon = startTaskDriver({
    ...ports,
    queue,
    pool,
    daemonId: id,
    limits,
    findWorkflow: () => null,
    memory: null,
    sessions: null,
    external: null,
    live: null,
    tasksMax,
    leaseMs,
    onEnded: () => {},
    handOn,
    healthy: () => life.silentMs < silentMsMax,
  })

  const peers: Peers = {
    async state(daemonId) {
      if (life.random.chance(lies.gone)) return 'gone'
      if (life.random.chance(lies.silent)) return 'silent'
      const seen = await callPeer(calling, daemonId, 1_000, () => 'alive' as const)
      return seen
    },
  }
  const sweep = startSweep({
    openTasks: {
      list: ({ owner, idleMsMin, limit }) =>
        life.ask(async () =>
          server.openTasks({ idleMsMin, limit, ...(owner === undefined ? {} : { owner }) }),
        ),
    },
    peers,
    queue,
    clock: life.clock,
    logger: silentLogger,
    tenant: 'local',
    daemonId: id,
    drives: (key) => daemon.tasks.has(key),
  })

  const intake: IntakePorts = {
    ...ports,
    tenant: 'local',
    workspaceDefault: '/workspace',
    folders: { at: async (path: string) => ({ kind: 'folder', real: path }) },
    lines: acceptanceLines(life.clock),
    skillNames: [],
    profileNames: [],
    modelNames: [],
    findWorkflow: () => null,
    workflowNames: [],
    open: daemon.open,
    enqueue: daemon.enqueue,
  }

  const sim: SimDaemon = {
    id,
    life,
    daemon,
    pool,
    sweep,
    tasksMax,
    lies,
    draining: false,
    submit: (request) => submitTask(submitRequest.parse(request), intake),
    command: (log, command) => carryOut({ ...calling, id, daemon, ports, queue }, log, command),
    async drain(graceMs) {
      sim.draining = true
      await sweep.stop()
      await daemon.drain(graceMs)
    },
  }
  return sim
}
